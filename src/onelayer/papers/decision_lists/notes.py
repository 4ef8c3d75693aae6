"""Titles of the tables of decision lists, and what their readers must know."""

THEOREM_1_TITLE = (
    "Decision lists, Theorem 1: time to perfect classification of all sequences, W only"
)
THEOREM_1_NOTES = [
    "Exact: reduced gradient flow from W = 0, V = cP, uniform sequences of n distinct tokens, "
    "lists of equal length m; '1 to 4': of unequal length, each length for as many tokens, which "
    "take as long as the slowest length alone. t* is the first time at which every sequence is "
    "classified strictly right. 'List order' is the share of adjacent list pairs with W[a_k, a] > "
    "W[a_{k+1}, a].",
    "The paper publishes no numbers but the bound 4 m / (log(L) γ), which stands in 'published' "
    "beside t_star; 'reproduced' means that t* is at most the bound, and 'bound / t*' how loose it "
    "is.",
    "γ and δ are ours: the abstract only says that they depend on the least probability mass of "
    "'certain quantities'. γ = min over tokens a and list places k of P(s_j = a and a_k "
    "determines its label); δ = 1 in c = 4 n log(L) / δ unless stated.",
    "The bound does not depend on δ, t* grows about as δ², so how loose the bound is depends on "
    "δ. Rows with δ above 1, which is no probability mass, are not judged.",
]

ATTENTION_TRAINING_TITLE = "Decision lists: training the full matrix W, V = cP"
ATTENTION_TRAINING_NOTES = [
    "Methods: 'full', population gradient flow over all sequences; 'sampled', the flow with fresh"
    " sequences at every step; 'descent', stochastic gradient descent on fresh sequences, time = "
    "learning rate × steps. Flows by Heun's method.",
    "'factored': population flow on W_K and W_Q apart, W = W_K^T W_Q, from entries drawn with that "
    "standard deviation: the paper's first equation, of which the theorem does not speak. Lists '1 "
    "to 4' long: of unequal length, each length for as many tokens.",
    "t* is the time at which the last query token is learned; 'median token' the median over "
    "query tokens. 'ratio' compares with the exact reduced flow, which exists for uniform "
    "sequences: t* of 'full', the median token of the others (with fresh sequences the last token"
    " is late by chance).",
    "'certified' is the share of query tokens a with W[a_1, a] > ... > W[a_m, a] > all others, a "
    "proof for every sequence of distinct tokens; 'accuracy' is over all sequences for 'full' and"
    " over the last draw for the others.",
    "The bound is Theorem 1's, 4 m / (log(L) γ), for population flow; 'reproduced' means at most "
    "that. The other methods, which the theorem does not speak of, are analogues."
    " γ and δ are ours: the abstract only says that they depend on the least probability mass of "
    "'certain quantities'. γ = min over tokens a and list places k of P(s_j = a and a_k "
    "determines its label); δ = 1 in c = 4 n log(L) / δ unless stated.",
]

THEOREM_2_TITLE = "Decision lists, Theorem 2: W and V trained together near V = cP"
THEOREM_2_NOTES = [
    "Gradient descent with η = 1 / λ_max from W = 0 and V = cP + noise of sup norm ε / 2, c = 10 "
    "n² L₀ / δ + 4 ε n; means over seeds with 95% t-intervals. λ_max is taken at each run's own "
    "start, L₀ at V = cP, δ = 1: the abstract leaves these open, so they are ours.",
    "The hypotheses ask for an A with sqrt(4 m L₀ / ε) < A < L₀ - 6 ε / n. Some ε meets them only"
    " where n log(n)² > 162 m, that is n of 19, 29, 38 or more for m of 1, 2, 3; elsewhere "
    "nothing is promised and the row has no verdict.",
    "Where they hold, 'published' beside latest_step is the window's beginning 2 m L₀ / (A² η) "
    "with the largest A, a mean over the seeds: the earliest T for which a perfect step up to T is "
    "promised; 'reproduced' means that the slowest seed was perfect by then.",
    "'sequences': all, or how many were drawn and trained on; perfect then means on those and on "
    "as many fresh ones as the settings say, which is evidence and no proof, and an analogue of "
    "the population loss.",
]

VALUE_TITLE = "Decision lists: V trained alone under uniform attention (W = 0)"
VALUE_NOTES = [
    "The paper reports, without numbers, that uniform attention 'is sufficient to push V in the "
    "direction of P'. Population gradient descent on V from V = 0; mean over seeds (smallest to "
    "largest).",
    "Centred cosine: of V and P, each minus its mean. 'Most that any V can': at W = 0 all queries"
    " of a sequence get the same output, so no V classifies more than the most frequent label of "
    "each sequence.",
    "V finds the permutation, and the task stays unsolved: it takes attention.",
]

JOINT_TITLE = "Decision lists: W and V trained together"
JOINT_NOTES = [
    "Population gradient. Near cP: W = 0, V = cP + uniform noise of sup norm ε / 2, gradient "
    "descent with η = 1 / λ_max at the start. From N(0, σ²): every entry of W and V, the regime "
    "that the authors leave open; learning rates are ours.",
    "'At step': first step at which all sequences (of Theorem 2's sampled row: those drawn and "
    "fresh ones) are classified strictly right, mean over the seeds that got there (smallest to "
    "largest); the CSV has every seed. The last columns are taken at that step.",
    "No published numbers: the paper proves convergence near cP and calls small random starts an "
    "opportunity for future work. These are measurements at small sizes and no proof.",
]
