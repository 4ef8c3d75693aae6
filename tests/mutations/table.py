"""The faults: module, what stands there, what a slip makes of it, which test must fail, and why.

Every text of a module stands in it once; `tests/unit/test_mutations.py` says so where it does not.
"""

from tests.mutations import Fault

FAULTS = [
    Fault(
        "step.py",
        'parts = [path.with_name(f".part-{path.name}") for path in paths]',
        "parts = paths",
        "tests/faults/test_step.py::test_outputs_appear_only_when_the_block_has_ended",
        "outputs are written in place instead of renamed",
    ),
    Fault(
        "step.py",
        """        for part in parts:
            with open(part, "rb+") as file:
                os.fsync(file.fileno())
        for part""",
        "        for part",
        "tests/faults/test_step.py::test_nothing_is_left_when_an_output_was_never_written",
        "outputs are renamed before all of them are known to be there",
    ),
    Fault(
        "step.py",
        "            part.unlink(missing_ok=True)",
        "            part.exists()",
        "tests/faults/test_step.py::test_nothing_is_left_when_the_block_raises",
        "a failed step leaves its half-written files",
    ),
    Fault(
        "step.py",
        'threads = getattr(block, "threads", 1)',
        "threads = os.cpu_count() or 1",
        "tests/faults/test_step.py::test_threads_come_from_settings_and_from_nowhere_else",
        "as many threads as cores: sums depend on the machine",
    ),
    Fault(
        "step.py",
        "constants.HF_HUB_OFFLINE = True",
        "constants.HF_HUB_OFFLINE = False",
        "tests/faults/test_hub.py::test_a_step_that_downloads_nothing_asks_no_hub",
        "a step that may not download asks the hub",
    ),
    Fault(
        "step.py",
        "            list(sums(self.files).values()),\n",
        "",
        "tests/unit/test_checkpoint.py"
        "::test_a_steps_state_is_of_its_settings_its_device_and_its_inputs",
        "a killed training goes on from the state of one with other inputs",
    ),
    Fault(
        "step.py",
        "            self.device,\n",
        "",
        "tests/unit/test_checkpoint.py"
        "::test_a_steps_state_is_of_its_settings_its_device_and_its_inputs",
        "a killed training goes on from the state of one on another device",
    ),
    Fault(
        "step.py",
        'log.error("%s: %s", name, error)\n        sys.exit(1)',
        'log.error("%s: %s", name, error)\n        sys.exit(0)',
        "tests/faults/test_bad_input.py::test_a_missing_input_file_is_named",
        "a step that refuses its input ends as if it had succeeded",
    ),
    Fault(
        "checkpoint.py",
        'if kept.get("identity") != self.identity:',
        'if "identity" not in kept:',
        "tests/unit/test_ensemble.py::test_a_checkpoint_of_another_training_is_not_taken_up",
        "a state is not compared with the identity of its training",
    ),
    Fault(
        "checkpoint.py",
        'part = self.path.with_name(f"{self.path.name}.new")',
        "part = self.path",
        "tests/unit/test_checkpoint.py::test_a_writing_that_breaks_off_leaves_the_earlier_state",
        "a kill while the state is written loses the earlier one",
    ),
    Fault(
        "checkpoint.py",
        'return Checkpoint(path, f"{self.identity} {identity}".strip(), self.seconds)',
        "return Checkpoint(path, self.identity, self.seconds)",
        "tests/unit/test_checkpoint.py"
        "::test_one_of_several_computations_has_a_file_and_an_identity_of_its_own",
        "one of several trainings takes up the state of another",
    ),
    Fault(
        "checkpoint.py",
        "except (SafetensorError, OSError, ValueError):",
        "except (OSError, ValueError):",
        "tests/unit/test_ensemble.py::test_a_broken_checkpoint_counts_as_none",
        "a broken state stops every later start",
    ),
    Fault(
        "liveness.py",
        "fcntl.LOCK_EX | fcntl.LOCK_NB",
        "fcntl.LOCK_SH | fcntl.LOCK_NB",
        "tests/unit/test_liveness.py::test_the_locks_of_a_step_that_is_alive_stay",
        "the lock of a run that is alive is removed",
    ),
    Fault(
        "allocation.py",
        "measured * attempt",
        "measured",
        "tests/unit/test_allocation.py::test_a_retry_asks_for_more_memory_and_time",
        "a retry asks for no more memory than the job that ran out of it",
    ),
    Fault(
        "seeds.py",
        'return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "little")',
        "return hash(text) % 2**32",
        "tests/unit/test_provenance.py::test_seeds_are_the_same_in_every_process",
        "seeds differ from process to process",
    ),
    # What decided a result
    Fault(
        "manifest.py",
        "if (path, found) not in records:",
        "if path not in recorded:",
        "tests/unit/test_manifest_and_index.py"
        "::test_a_result_without_a_record_or_changed_since_is_refused",
        "a stale record vouches for a changed file",
    ),
    Fault(
        "manifest.py",
        'found |= dict.fromkeys(record["outputs"].items(), record)',
        'found = dict.fromkeys(record["outputs"].items(), record) | found',
        "tests/unit/test_manifest_and_index.py"
        "::test_of_two_records_of_the_same_bytes_the_newer_counts",
        "of two records of the same bytes the older one counts",
    ),
    Fault(
        "manifest.py",
        'waiting.extend(record["inputs"].items())',
        'waiting.extend(record["outputs"].items())',
        "tests/unit/test_manifest_and_index.py"
        "::test_a_manifest_names_every_step_that_led_to_a_result",
        "a result names its own step alone",
    ),
    Fault(
        "manifest.py",
        'return commit + ("+" if changes else "")',
        "return commit",
        "tests/unit/test_manifest_and_index.py"
        "::test_a_commit_is_marked_where_tracked_files_differ_from_it",
        "results of edited code carry the commit's name",
    ),
    Fault(
        "index.py",
        "total = sum(counts.values(), Counter())",
        "total = list(counts.values())[-1]",
        "tests/unit/test_manifest_and_index.py"
        "::test_the_index_counts_verdicts_and_links_every_form",
        "the verdicts of the last table stand for all",
    ),
    Fault(
        "registry.py",
        "if unused := sorted(written - self._described):",
        "if unused := sorted(self._described - written):",
        "tests/unit/test_registry.py::test_every_result_has_a_caption_and_every_caption_a_result",
        "a caption that nobody uses is accepted",
    ),
    Fault(
        "registry.py",
        "if result.base in self.declared:",
        "if pattern.base in self.declared:",
        "tests/unit/test_registry.py::test_a_result_of_a_pattern_is_declared_once",
        "two rules make one file, where its name has wildcards",
    ),
    Fault(
        "registry.py",
        "for group in result.groups if base not in self._left_out else []:",
        "for group in result.groups:",
        "tests/unit/test_registry.py"
        "::test_what_is_left_out_has_a_target_of_its_own_and_is_in_no_other",
        "a paper's target makes what these settings leave out",
    ),
    Fault(
        "provenance.py",
        "return json.dumps(merged, sort_keys=True, default=",
        "return json.dumps(merged, default=",
        "tests/unit/test_provenance.py::test_settings_travel_as_one_string_with_sorted_keys",
        "the order of settings in a file reruns steps",
    ),
    Fault(
        "provenance.py",
        "waiting.extend(_own_imports(path))",
        "seen.update(_own_imports(path))",
        "tests/unit/test_provenance.py"
        "::test_a_closure_holds_the_script_and_what_it_imports_and_nothing_else",
        "a step is not rerun when what its modules import changes",
    ),
    # Downloads
    Fault(
        "fetch.py",
        "if found != expected:",
        "if not found:",
        "tests/faults/test_downloads.py::test_an_altered_member_is_refused_with_both_sums",
        "the SHA-256 of a downloaded file is not compared",
    ),
    Fault(
        "fetch.py",
        "FIRST_PAUSE * 2 ** (attempt - 1)",
        "FIRST_PAUSE * 2**attempt",
        "tests/faults/test_downloads.py::test_attempts_end_and_pauses_between_them_double",
        "pauses are off by one doubling",
    ),
    Fault(
        "fetch.py",
        r'return re.sub(r"://[^/\s@]+@", "://", reason)',
        "return reason",
        "tests/faults/test_downloads.py"
        "::test_the_password_stays_out_of_the_reason_whatever_pip_says",
        "the password of an index stands in the log",
    ),
    Fault(
        "hub.py",
        "if blob.name not in found:",
        "if not found:",
        "tests/faults/test_hub.py::test_content_that_stays_altered_is_refused_with_both_sums",
        "content is not compared with git's sum",
    ),
    Fault(
        "hub.py",
        "if expected and (found := file_sha256(cached)) != expected:",
        "if expected and not (found := file_sha256(cached)):",
        "tests/faults/test_hub.py::test_content_is_checked_against_a_sum_in_the_settings",
        "a sum pinned in the settings is not compared",
    ),
    Fault(
        "hub.py",
        "passing = not status or status >= 500 or status in _BUSY",
        "passing = not status or status >= 500",
        "tests/faults/test_hub.py::test_what_may_pass_is_worth_another_attempt",
        "a hub that timed out is given up at once",
    ),
    # Settings
    Fault(
        "settings/hub.py",
        "if len(revision) != 40 or set(revision)",
        "if set(revision)",
        "tests/faults/test_hub.py::test_a_revision_that_may_move_is_refused_with_what_it_should_be",
        "the first digits of a commit count as one",
    ),
    Fault(
        "settings/corpus.py",
        "min(end - file, Fraction(1))",
        "Fraction(1)",
        "tests/unit/test_parts.py::test_the_parts_of_a_corpus_cover_its_files_once",
        "parts of a corpus overlap",
    ),
    Fault(
        "settings/topics.py",
        "int(self.fraction * vocabulary)",
        "round(self.fraction * vocabulary)",
        "tests/unit/test_topics.py::test_a_fraction_counts_words_of_the_vocabulary",
        "a fraction keeps a word more than it covers",
    ),
    Fault(
        "settings/pretraining.py",
        "if self.width % self.heads:",
        "if self.heads > self.width:",
        "tests/unit/test_pretraining.py::test_heads_that_do_not_divide_the_width_are_refused",
        "heads that do not divide the width come to transformers",
    ),
    Fault(
        "settings/root.py",
        "originals = [k for k, m in settings.models.items() if not isinstance(m, RandomModel)]",
        "originals = list(settings.models)",
        "tests/unit/test_settings.py::test_what_does_not_fit_is_named_with_what_is_allowed",
        "a random model may be like itself",
    ),
    # Intervals, verdicts, tables
    Fault(
        "intervals.py",
        "stdtrit(n - 1, 0.975)",
        "stdtrit(n, 0.975)",
        "tests/unit/test_intervals.py::test_the_interval_of_a_mean_is_students",
        "n degrees of freedom instead of n - 1",
    ),
    Fault(
        "intervals.py",
        "values.std(ddof=1), n",
        "values.std(), n",
        "tests/unit/test_intervals.py::test_the_interval_of_a_mean_is_students",
        "n instead of n - 1 in a standard deviation",
    ),
    Fault(
        "intervals.py",
        "value + math.hypot(above, half)",
        "value + max(above, half)",
        "tests/unit/test_intervals.py"
        "::test_distances_to_both_ends_are_added_as_squares_on_either_side",
        "of seeds and data only the wider part counts",
    ),
    Fault(
        "intervals.py",
        "betaincinv(successes, n - successes + 1, 0.025)",
        "betaincinv(successes, n - successes, 0.025)",
        "tests/unit/test_intervals.py::test_the_interval_of_a_share_is_clopper_and_pearsons",
        "a share's lower bound is too high",
    ),
    Fault(
        "verdicts.py",
        "verdict == OPEN and found not in",
        "verdict == OPEN and found in",
        "tests/unit/test_verdicts.py::test_a_row_that_rests_on_one_training_stays_open",
        "one training decides",
    ),
    Fault(
        "findings.py",
        "if agree + undecided == len(found)",
        "if undecided == len(found)",
        "tests/unit/test_findings.py::test_the_verdicts_of_all_rows_choose_the_outcome",
        "rows that agree beside open ones say that a claim fails",
    ),
    Fault(
        "findings.py",
        'it = it[it["verdict"] != "not run"]',
        "",
        "tests/unit/test_findings.py"
        "::test_rows_that_were_not_run_and_rows_without_a_verdict_do_not_decide",
        "what was not run decides",
    ),
    Fault(
        "comparison.py",
        "& _inside(mine, other) & _inside(other, mine)",
        "& _inside(mine, other)",
        "tests/unit/test_comparison.py"
        "::test_rows_agree_where_each_value_lies_in_the_others_interval",
        "a wide interval agrees with anything",
    ),
    Fault(
        "verdicts.py",
        "slack += 2 * ours.published_std",
        "slack += 0.0",
        "tests/unit/test_verdicts.py::test_verdict",
        "the published standard deviations are forgotten",
    ),
    Fault(
        "verdicts.py",
        "1 if effect > 0 else -1).verdict_of(low, high)",
        "1 if effect > 0 else -1).verdict_of(ours.value, ours.value)",
        "tests/unit/test_verdicts.py::test_verdict",
        "a direction is found whose interval has no effect in it",
    ),
    Fault(
        "verdicts.py",
        """"differs" if (farthest - self.reference) * self.side <= 0 else "open\"""",
        '"differs"',
        "tests/unit/test_verdicts.py::test_verdict",
        "an interval that reaches both sides contradicts the claim",
    ),
    Fault(
        "verdicts.py",
        """"differs" if low > nothing or high < -nothing else "open\"""",
        '"differs"',
        "tests/unit/test_verdicts.py::test_verdict",
        "a part of an interval contradicts the claim that there is no effect",
    ),
    Fault(
        "verdicts.py",
        "slack = self._known(ours)",
        "slack = 0.0",
        "tests/unit/test_verdicts.py::test_what_was_rounded_away_is_no_difference",
        "a printed number is taken for exact",
    ),
    Fault(
        "verdicts.py",
        "return max(tolerance, self.relative * abs(ours.published))",
        "return tolerance",
        "tests/unit/test_verdicts.py"
        "::test_an_interval_without_width_needs_the_tolerance_of_its_method",
        "a number from a theorem must be met to the last bit",
    ),
    Fault(
        "verdicts.py",
        "return 0.5 * 10.0 **",
        "return 10.0 **",
        "tests/unit/test_verdicts.py::test_a_number_is_known_to_half_a_unit_of_its_last_digit",
        "a whole unit of the last digit instead of half",
    ),
    Fault(
        "verdicts.py",
        "return (ours.value - self.reference) / effect if",
        "return ours.value / ours.published if",
        "tests/unit/test_verdicts.py::test_our_effect_is_a_share_of_the_published_one",
        "the share of the value instead of the effect",
    ),
    Fault(
        "verdicts.py",
        "NOT_REACHED if unreached else OPEN if undecided else found",
        "OPEN if undecided else found",
        "tests/unit/test_verdicts.py"
        "::test_a_run_that_stood_still_is_never_judged_by_where_it_stands",
        "a run that did not train agrees by standing still",
    ),
    Fault(
        "verdicts.py",
        "(kind or own.kind) if compares",
        "own.kind if compares",
        "tests/unit/test_verdicts.py::test_every_row_says_what_it_was_compared_with",
        "random models count as published numbers reproduced",
    ),
    Fault(
        "papers/topic_structure/synthetic/tables.py",
        "<= UNMOVED",
        "<= 0",
        "tests/unit/test_topic_structure_training.py"
        "::test_slow_descent_leaves_attention_uniform_and_the_table_says_so",
        "attention that is uniform to a hundredth is taken for trained",
    ),
    Fault(
        "papers/local_to_global/training_tables.py",
        "return not (end < start and end <= chain.unigram_entropy + CLOSE)",
        "return end >= start or end > chain.unigram_entropy + CLOSE",
        "tests/unit/test_local_to_global_tables.py"
        "::test_a_run_whose_loss_does_not_fall_is_not_judged",
        "a loss that is no number is taken for trained",
    ),
    Fault(
        "verdicts.py",
        "nearest, farthest = (low, high)",
        "nearest, farthest = (high, high)",
        "tests/unit/test_verdicts.py::test_a_claim_holds_where_its_whole_interval_lies_on_its_side",
        "a claim holds where a part of the interval does",
    ),
    Fault(
        "tables.py",
        'float_format="%.9g"',
        'float_format="%.4g"',
        "tests/unit/test_tables.py::test_a_csv_has_the_house_columns_and_reads_back",
        "the table for machines is rounded as the one for readers",
    ),
    Fault(
        "tables.py",
        'return table.fillna(dict.fromkeys(TEXTS, ""))',
        "return table",
        "tests/unit/test_tables.py::test_a_csv_has_the_house_columns_and_reads_back",
        "empty verdicts read back as missing numbers",
    ),
    # Corpora
    Fault(
        "corpus/storage.py",
        "order = sorted((chance(article_id), place) for",
        "order = sorted((article_id, place) for",
        "tests/unit/test_corpus.py::test_a_smaller_subset_is_part_of_a_larger_one",
        "a subset is the beginning of a sorted corpus",
    ),
    Fault(
        "corpus/articles.py",
        r'_WORD = re.compile(r"[^\W\d_]+")',
        r'_WORD = re.compile(r"\w+")',
        "tests/unit/test_corpus.py::test_words_are_lower_cased_runs_of_letters",
        "numbers are words",
    ),
    Fault(
        "corpus/mediawiki.py",
        r're.compile(r"\s*#redirect", re.IGNORECASE)',
        r're.compile(r"\s*#redirect")',
        "tests/unit/test_corpus.py"
        "::test_a_dump_yields_articles_without_markup_redirects_or_talk_pages",
        "redirects are articles",
    ),
    Fault(
        "corpus/mediawiki.py",
        "while start >= 0 and here + start < own:",
        "while start >= 0 and here + start <= own:",
        "tests/unit/test_parts.py::test_parts_of_a_dump_have_each_article_once_and_in_order",
        "a page that begins with the next part's block is read twice",
    ),
    Fault(
        "corpus/bzip2.py",
        "kept = held[-6:]",
        "kept = held[-5:]",
        "tests/unit/test_parts.py::test_blocks_are_those_of_the_file",
        "a mark across two reads is missed",
    ),
    Fault(
        "corpus/rows.py",
        "at(rows, range(first, last)), first",
        "at(rows, range(first, len(rows))), first",
        "tests/unit/test_parts.py::test_parts_of_rows_have_each_article_once_and_in_order",
        "a part reads on beyond its end",
    ),
    Fault(
        "corpus/rows.py",
        "if piece.slice.end == 1]",
        "]",
        "tests/unit/test_parts.py::test_parts_of_rows_have_each_article_once_and_in_order",
        "a text file is in two parts",
    ),
    # Topics
    Fault(
        "topics/bag_of_words.py",
        "key=lambda use: (-use.documents, use.word)",
        "key=lambda use: (-use.occurrences, use.word)",
        "tests/unit/test_parts.py"
        "::test_the_most_widespread_words_are_kept_and_ties_are_alphabetical",
        "the most frequent words are kept instead of the most widespread",
    ),
    Fault(
        "topics/bag_of_words.py",
        "        documents.update(counts.keys())",
        "        documents.update(counts)",
        "tests/unit/test_topics.py"
        "::test_a_word_has_letters_enough_is_no_stop_word_and_is_neither_rare_nor_everywhere",
        "a word's occurrences count as articles",
    ),
    Fault(
        "topics/bags.py",
        'side="right")) - 1',
        'side="left")) - 1',
        "tests/unit/test_parts.py::test_topics_of_parts_are_those_of_the_whole_to_the_last_bit",
        "the first article of a part is looked up in the part before",
    ),
    Fault(
        "topics/online_lda.py",
        'generator("document order", settings.seed).permutation(bag.size)',
        "np.arange(bag.size)",
        "tests/unit/test_topics.py::test_online_lda_reads_a_corpus_in_another_order_than_its_own",
        "online LDA reads a sorted corpus in its order",
    ),
    Fault(
        "topics/online_lda.py",
        "topics.eta + (topics.dirichlet[topic] - topics.eta)",
        "topics.eta + topics.dirichlet[topic]",
        "tests/oracle/test_online_lda.py::test_topics_of_documents_are_those_of_gensim",
        "the topics' prior is counted twice when documents are inferred",
    ),
    Fault(
        "topics/online_lda.py",
        "mean_absolute_difference(gamma, last) < CONVERGED",
        "mean_absolute_difference(gamma, last) < 10 * CONVERGED",
        "tests/oracle/test_online_lda.py::test_a_fit_is_that_of_gensim",
        "documents are given up before their topics have converged",
    ),
    Fault(
        "topics/gibbs_lda.py",
        "    model.optim_interval = 0\n",
        "",
        "tests/unit/test_topics.py::test_the_sampler_keeps_the_priors_to_its_last_sweep",
        "the sampler adapts the priors: another model than gensim's",
    ),
    Fault(
        "topics/gibbs_lda.py",
        "return Topics(assigned + eta, *priors)",
        "return Topics(assigned, *priors)",
        "tests/unit/test_topics.py"
        "::test_a_gibbs_sample_assigns_every_word_of_the_corpus_to_a_topic",
        "a word that is not in a topic has probability 0 there",
    ),
    Fault(
        "topics/ambiguity.py",
        "topic, word = np.repeat(np.arange(topics), kept), tops.ravel()",
        "topic, word = np.tile(np.arange(topics), kept), tops.ravel()",
        "tests/unit/test_topics.py::test_overlapping_topics_share_words_and_disjoint_ones_do_not",
        "words are kept in other topics than those whose top they are",
    ),
    Fault(
        "topics/model.py",
        'np.argsort(-word_probability, axis=1, kind="stable")',
        "np.argsort(word_probability, axis=1)[:, ::-1]",
        "tests/unit/test_topics.py::test_ties_in_probability_go_to_the_first_word",
        "ties go to whichever word the machine sorts first",
    ),
    Fault(
        "topics/quality.py",
        "total[0] / bag.size",
        "total[0] / (bag.size - 1)",
        "tests/unit/test_topics.py"
        "::test_lda_finds_planted_topics_in_float64_and_the_same_every_time",
        "prevalence is divided by n - 1",
    ),
    Fault(
        "topics/quality.py",
        "np.log(together / np.outer(alone, alone)) / -np.log(together)",
        "np.log(together / np.outer(alone, alone)) / -np.log(alone)",
        "tests/unit/test_topics.py::test_npmi_agrees_with_a_plain_count",
        "NPMI is normalised by one word instead of both",
    ),
    # Models
    Fault(
        "models/tokenizer.py",
        'pre_tokenizer.prepend_scheme = "always"',
        'pre_tokenizer.prepend_scheme = "first"',
        "tests/unit/test_families.py::test_words_are_traced_to_their_only_piece",
        "all words but the first read as the inside of another one",
        "the library takes every word of a text that is split already for its first one",
    ),
    Fault(
        "models/tokenizer.py",
        "while total + pieces[fitting] <= max_tokens:",
        "while total + pieces[fitting] < max_tokens:",
        "tests/unit/test_models.py::test_a_text_is_cut_after_the_last_whole_word_that_fits",
        "a text loses a word that fits",
    ),
    Fault(
        "models/checkpoints.py",
        "int((~torch.isfinite(parameter)).sum())",
        "int(torch.isnan(parameter).sum())",
        "tests/faults/test_bad_input.py::test_weights_that_are_not_finite_are_refused_by_name",
        "infinite weights are probed",
    ),
    Fault(
        "models/checkpoints.py",
        "[embedding_output(model, part) for part in texts.split(WORDS_AT_ONCE)]",
        "[embedding_output(model, texts.T).transpose(0, 1)]",
        "tests/unit/test_models.py::test_the_embedding_layer_adds_position_and_type_and_normalises",
        "words are embedded at different positions",
    ),
    Fault(
        "models/checkpoints.py",
        'torch.manual_seed(stable_seed("random checkpoint", seed))',
        'torch.manual_seed(stable_seed("random checkpoint"))',
        "tests/unit/test_models.py::test_a_random_checkpoint_depends_on_its_seed_alone",
        "all random controls are the same model",
    ),
    Fault(
        "models/architecture.py",
        "module.padding_idx + 1",
        "module.padding_idx",
        "tests/unit/test_architectures.py"
        "::test_no_more_tokens_are_read_than_there_are_positions_for",
        "RoBERTa reads a token more than it has positions for",
    ),
    Fault(
        "models/architecture.py",
        "    return states[0]\n",
        "    return states[1]\n",
        "tests/unit/test_architectures.py"
        "::test_the_first_hidden_state_is_the_output_of_the_models_own_embedding_layer",
        "words have the output of the first layer for an embedding",
    ),
    Fault(
        "models/folder.py",
        "TOKENIZER_CONFIG: _check_json",
        "TOKENIZER_CONFIG: lambda path, source: None",
        "tests/faults/test_hub.py"
        "::test_a_request_for_remote_code_is_refused_before_the_weights_come",
        "a tokenizer may ask for remote code",
    ),
    # Pretraining
    Fault(
        "pretraining/corruption.py",
        "draws[1] < masked + other",
        "draws[1] < other",
        "tests/unit/test_pretraining.py::test_masks_follow_the_shares_of_the_family",
        "no chosen word becomes another one",
    ),
    Fault(
        "pretraining/corruption.py",
        "max(1, round(share * words))",
        "max(1, round(share * words / mean_length))",
        "tests/unit/test_pretraining.py::test_spans_cover_the_share_and_leave_the_rest_in_order",
        "spans, not words, have the share",
    ),
    Fault(
        "pretraining/text.py",
        "np.flatnonzero(encoded.held_out == held_out)",
        "np.flatnonzero(encoded.held_out <= held_out)",
        "tests/unit/test_pretraining.py"
        "::test_segments_stay_within_an_article_and_within_the_length",
        "held-out text overlaps the training text",
    ),
    Fault(
        "pretraining/text.py",
        "shortest = int(self.lengths[rows].min())",
        "shortest = int(self.lengths[rows].max())",
        "tests/unit/test_pretraining.py::test_an_epoch_reads_every_segment_once_without_padding",
        "short segments run into the next article",
    ),
    Fault(
        "pretraining/text.py",
        'generator("order of segments", seed, epoch)',
        'generator("order of segments", seed)',
        "tests/unit/test_pretraining.py::test_an_epoch_reads_every_segment_once_without_padding",
        "every epoch reads the text in the same order",
    ),
    Fault(
        "pretraining/storage.py",
        "np.bincount(encoded.ids[trained], minlength=len(pieces))",
        "np.bincount(encoded.ids, minlength=len(pieces))",
        "tests/unit/test_pretraining.py"
        "::test_output_biases_start_at_the_frequencies_of_the_training_text_alone",
        "the output's biases know the held-out text",
    ),
    Fault(
        "pretraining/training.py",
        "(tokens + 1) / (warmup + 1)",
        "tokens / (warmup + 1)",
        "tests/unit/test_pretraining.py"
        "::test_the_learning_rate_rises_to_its_peak_and_falls_to_zero",
        "the warm-up is off by one: the first update is lost",
    ),
    Fault(
        "pretraining/training.py",
        'if p.ndim <= 1], "weight_decay": 0.0}',
        'if p.ndim <= 1], "weight_decay": settings.weight_decay}',
        "tests/unit/test_pretraining.py::test_biases_and_norms_do_not_decay",
        "biases and norms decay",
    ),
    Fault(
        "pretraining/vocabulary.py",
        "documents.update(set(words))",
        "documents.update(words)",
        "tests/unit/test_pretraining.py"
        "::test_the_vocabulary_has_the_commonest_words_after_the_special_pieces",
        "a word's occurrences count as articles",
    ),
    Fault(
        "pretraining/objectives.py",
        "torch.searchsorted(masses, targets[:, None], right=True)",
        "torch.searchsorted(masses, targets[:, None])",
        "tests/oracle/test_pretraining.py::test_words_are_sampled_from_the_softmax",
        "ELECTRA's generator draws words of probability 0",
    ),
    # Ensembles
    Fault(
        "ensemble/optimizers.py",
        "root = (1 - beta2 ** (step + 1)).sqrt()",
        "root = (1 - beta2 ** (step + 2)).sqrt()",
        "tests/oracle/test_ensemble.py::test_each_run_equals_torch_optim_on_a_single_model",
        "Adam's bias correction is off by one step",
    ),
    Fault(
        "ensemble/optimizers.py",
        "step = buffer.mul_(momentum).add_(gradient)",
        "step = buffer.copy_(gradient)",
        "tests/oracle/test_ensemble.py::test_each_run_equals_torch_optim_on_a_single_model",
        "SGD forgets its momentum",
    ),
    Fault(
        "ensemble/optimizers.py",
        "1 - self.owner.lr[name][self.rows] * self.factor * decay",
        "1 - self.factor * decay",
        "tests/oracle/test_ensemble.py::test_each_run_equals_torch_optim_on_a_single_model",
        "AdamW's decay is not multiplied with the learning rate",
    ),
    Fault(
        "ensemble/optimizers.py",
        "norm = torch.linalg.vector_norm(torch.stack(norms), dim=0)",
        "norm = torch.stack(norms).amax(dim=0)",
        "tests/oracle/test_ensemble.py::test_each_run_equals_torch_optim_on_a_single_model",
        "gradients are clipped by the largest parameter's norm",
    ),
    Fault(
        "ensemble/training.py",
        '        tensors |= {f"optimizer/{name}": tensor'
        " for name, tensor in self.updater.state.items()}\n",
        "",
        "tests/unit/test_ensemble.py::test_an_interrupted_training_goes_on_to_the_same_bytes",
        "an interrupted training forgets its moments",
    ),
    Fault(
        "ensemble/training.py",
        "finite &= torch.isfinite(gradient.reshape(len(loss), -1).sum(1))",
        "finite &= torch.isfinite(loss)",
        "tests/unit/test_ensemble.py"
        "::test_a_gradient_that_is_not_finite_freezes_its_run_though_the_loss_is",
        "a gradient that is not finite ends in the parameters",
    ),
    Fault(
        "ensemble/chunks.py",
        "losses=torch.cat([part.losses for part in parts], dim=1)",
        "losses=torch.cat([part.losses for part in parts])",
        "tests/oracle/test_ensemble.py::test_a_run_is_the_same_whatever_else_is_in_its_ensemble",
        "losses of chunks are joined along time",
    ),
    Fault(
        "ensemble/random.py",
        "torch.log1p(-pairs[:, 0]).mul_(-2)",
        "torch.log1p(-pairs[:, 0]).mul_(-1)",
        "tests/unit/test_ensemble.py"
        "::test_random_numbers_are_uniform_normal_and_independent_between_runs",
        "normal numbers have half the variance",
    ),
    # Decision lists
    Fault(
        "papers/decision_lists/constants.py",
        "return 4 * M / (np.log(L) * gamma)",
        "return 4 * M / (np.log2(L) * gamma)",
        "tests/unit/test_decision_lists.py::test_the_bound_is_4_m_over_log_l_and_gamma",
        "Theorem 1's bound with log2",
    ),
    Fault(
        "papers/decision_lists/constants.py",
        "_symmetric(w[:, None], n)[n, 0] / n)",
        "_symmetric(w[:, None], n)[n, 0])",
        "tests/oracle/test_decision_lists.py::test_gamma_agrees_with_enumeration",
        "gamma forgets the position",
    ),
    Fault(
        "papers/decision_lists/model.py",
        "W.reshape(-1)[batch.pairs].softmax(dim=2)",
        "W.reshape(-1)[batch.pairs].softmax(dim=1)",
        "tests/oracle/test_decision_lists.py::test_loss_for_w_agrees_with_loops_over_all_outputs",
        "softmax over queries instead of keys",
    ),
    Fault(
        "papers/decision_lists/model.py",
        "return np.minimum(smallest, own - outside)",
        "return smallest",
        "tests/oracle/test_decision_lists.py::test_certificate_agrees_and_proves_every_sequence",
        "a certificate that forgets the tokens outside the list",
    ),
    Fault(
        "papers/decision_lists/hessian.py",
        "start, tolerance, max_products) + dominant",
        "start, tolerance, max_products)",
        "tests/oracle/test_decision_lists.py"
        "::test_the_largest_eigenvalue_is_not_the_most_negative_one",
        "the shift of the second iteration is not taken back",
    ),
    Fault(
        "papers/decision_lists/joint.py",
        "perfect &= evaluate(W, V, held_out).accuracy > 1 - 1e-9",
        "evaluate(W, V, held_out)",
        "tests/unit/test_decision_list_room.py"
        "::test_perfect_on_drawn_sequences_means_on_fresh_ones_too",
        "perfect on the sequences trained on counts as perfect",
    ),
    Fault(
        "papers/decision_lists/joint.py",
        "rng.uniform(-epsilon / 2, epsilon / 2, (runs, L, L))",
        "rng.uniform(-epsilon, epsilon, (runs, L, L))",
        "tests/unit/test_decision_lists.py::test_theorem_2_starts_within_half_of_epsilon_of_cp",
        "Theorem 2's start lies twice as far from cP",
    ),
    Fault(
        "papers/decision_lists/starts.py",
        "values = run.V[problem.lists.permutation]",
        "values = run.V[:, problem.lists.permutation]",
        "tests/unit/test_decision_list_room.py::test_v_is_drawn_so_that_p_is_the_diagonal",
        "V is drawn with its columns permuted: P is no diagonal",
    ),
    Fault(
        "papers/decision_lists/reduced.py",
        "patterns.c * share * patterns.count / patterns.members[:, None]",
        "patterns.c * share * patterns.count",
        "tests/oracle/test_decision_lists.py::test_reduced_rate_is_the_full_gradient",
        "an outside token moves as fast as all of them together",
    ),
    Fault(
        "papers/decision_lists/reduced.py",
        "h[column] * (taken - 1 - old / (new - old))",
        "h[column] * (taken - old / (new - old))",
        "tests/unit/test_decision_lists.py::test_time_does_not_depend_on_the_step",
        "t* is a step late",
    ),
    Fault(
        "papers/decision_lists/sampler.py",
        "repeats = (ascending[:, 1:] == ascending[:, :-1]).any(dim=1)",
        "repeats = (tokens[:, 1:] == tokens[:, :-1]).any(dim=1)",
        "tests/unit/test_decision_list_room.py"
        "::test_sequences_drawn_again_after_a_repeat_are_uniform",
        "a token may stand twice in a sequence",
    ),
    Fault(
        "papers/decision_lists/full.py",
        "        self.crossing[self.above <= 0] = np.nan\n",
        "",
        "tests/unit/test_decision_lists.py::test_a_query_that_is_wrong_again_has_no_time",
        "a query that was right once and is wrong again keeps its time",
    ),
    Fault(
        "papers/decision_lists/tables.py",
        '{"note": NO_MASS} if delta > 1 else',
        '{"note": NO_MASS} if delta >= 1 else',
        "tests/unit/test_decision_list_room.py"
        "::test_a_time_is_judged_against_the_bound_and_nothing_else",
        "the default delta is not judged",
    ),
    # Local to global
    Fault(
        "papers/local_to_global/canonical.py",
        "4 * np.sign(w) * e * e",
        "4 * e * e",
        "tests/oracle/test_local_to_global.py::test_the_hessian_is_the_derivative_of_the_gradient",
        "the sign of w is lost in the Hessian",
    ),
    Fault(
        "papers/local_to_global/canonical.py",
        "- xp.sign(w) * xp.log(size) - 2 * a * a",
        "- xp.sign(w) * xp.log(size) + 2 * a * a",
        "tests/oracle/test_local_to_global.py::test_the_energy_with_attention_is_constant",
        "the energy's attention term has the other sign",
    ),
    Fault(
        "papers/local_to_global/basins.py",
        "local = (w >= 0) | (below & (E < E_SADDLE))",
        "local = (w > 0) | (below & (E < E_SADDLE))",
        "tests/unit/test_local_to_global.py::test_w_0_stays_0_and_has_its_own_limit",
        "w = 0 lies in the other basin",
    ),
    Fault(
        "papers/local_to_global/theory.py",
        '"local minimum": [np.array([0.0, w]) for w in (outer if below else inner)]',
        '"local minimum": [np.array([0.0, w]) for w in (inner if below else outer)]',
        "tests/unit/test_local_to_global.py::test_critical_points_are_what_they_are_called",
        "local minima and maxima are exchanged",
    ),
    Fault(
        "papers/local_to_global/chain.py",
        "self.pi0 * _binary_entropy(self.p) + self.pi1 * _binary_entropy(self.q)",
        "self.pi1 * _binary_entropy(self.p) + self.pi0 * _binary_entropy(self.q)",
        "tests/unit/test_local_to_global.py::test_entropies_and_the_loss_at_the_critical_points",
        "the bigram entropy weighs the symbols the other way round",
    ),
    Fault(
        "papers/local_to_global/integrator.py",
        "time = torch.where(moved, time + length, time)",
        "time = time + length",
        "tests/oracle/test_local_to_global.py::test_every_trajectory_is_that_of_scipy",
        "rejected steps take time",
    ),
    Fault(
        "papers/local_to_global/sequences.py",
        "symbol[..., 0] = u[..., 0] < chain.pi1",
        "symbol[..., 0] = u[..., 0] < chain.pi0",
        "tests/oracle/test_local_to_global.py::test_sequences_are_those_of_the_loop_over_time",
        "sequences do not start in the stationary law",
    ),
    Fault(
        "papers/local_to_global/training.py",
        "math.cos(math.pi * step / turn)",
        "math.cos(math.pi * (step + 1) / turn)",
        "tests/unit/test_local_to_global_training.py"
        "::test_the_schedule_rises_to_1_and_falls_to_a_tenth",
        "the warm-up is off by one step",
    ),
    Fault(
        "papers/local_to_global/training.py",
        'UNDECAYED = ("b", ',
        "UNDECAYED = (",
        "tests/unit/test_local_to_global_training.py"
        "::test_matrices_decay_and_biases_and_gains_do_not",
        "the bias decays",
    ),
    Fault(
        "papers/local_to_global/training.py",
        "squares = torch.linalg.svdvals(W).square()",
        "squares = torch.linalg.svdvals(W)",
        "tests/oracle/test_local_to_global_transformer.py"
        "::test_top_share_is_that_of_the_singular_values",
        "the share is of singular values instead of their squares",
    ),
    Fault(
        "papers/local_to_global/attention.py",
        "place <= place.unsqueeze(-1)",
        "place <= place.unsqueeze(-1) + 1",
        "tests/oracle/test_local_to_global_transformer.py::test_logits_are_those_of_the_loop",
        "the model sees the symbol that it predicts",
    ),
    Fault(
        "papers/local_to_global/transformer.py",
        "return chain.pi1 * ones + chain.pi0 * zeros",
        "return chain.pi0 * ones + chain.pi1 * zeros",
        "tests/oracle/test_local_to_global_transformer.py"
        "::test_population_loss_of_unigram_and_bigram_model_are_the_entropies",
        "the population loss weighs the symbols the other way round",
    ),
    Fault(
        "papers/local_to_global/initialisation.py",
        "RESIDUAL_STD = STD / math.sqrt(2)",
        "RESIDUAL_STD = STD",
        "tests/unit/test_local_to_global_training.py"
        "::test_starts_have_the_size_and_the_rank_they_should",
        "matrices that write to the residual stream start too large",
    ),
    Fault(
        "papers/local_to_global/simulation.py",
        "until=torch.from_numpy(np.repeat(time, n))",
        "until=torch.from_numpy(np.tile(time, n))",
        "tests/unit/test_local_to_global.py"
        "::test_a_shown_path_is_where_the_flow_is_at_each_of_its_times",
        "a path's points belong to other times",
    ),
    Fault(
        "papers/local_to_global/flow_tables.py",
        "reached == basins.GLOBAL, chain.bigram_entropy, chain.unigram_entropy",
        "reached == basins.GLOBAL, chain.unigram_entropy, chain.bigram_entropy",
        "tests/unit/test_local_to_global_tables.py"
        "::test_a_map_of_exact_limits_has_no_errors_and_a_wrong_end_is_counted",
        "minima are compared with each other's entropy",
    ),
    Fault(
        "papers/local_to_global/training_tables.py",
        "reached = iteration[loss <= chain.bigram_entropy + CLOSE]",
        "reached = iteration[loss <= chain.unigram_entropy + CLOSE]",
        "tests/unit/test_local_to_global_tables.py"
        "::test_initialisation_says_where_each_seed_ends_and_when",
        "the unigram entropy counts as the bigram's",
    ),
    # Scan and snap
    Fault(
        "papers/scan_snap/model.py",
        "torch.softmax(z + batch.log_counts, dim=2)",
        "torch.softmax(z + batch.log_counts, dim=3)",
        "tests/oracle/test_scan_snap.py::test_loss_and_gradients_equal_those_of_the_plain_model",
        "softmax over sequences instead of tokens",
    ),
    Fault(
        "papers/scan_snap/model.py",
        "common = of_last[..., :COMMON].sum(dim=2)",
        "common = of_last[..., :COMMON].mean(dim=2)",
        "tests/oracle/test_scan_snap.py::test_loss_and_gradients_equal_those_of_the_plain_model",
        "common tokens get the mean of their gradients",
    ),
    Fault(
        "papers/scan_snap/measures.py",
        "return distinct / distinct.sum(axis=-1, keepdims=True)",
        "return distinct",
        "tests/unit/test_scan_snap.py::test_measures_of_known_attention",
        "entropy of shares that do not sum to 1",
    ),
    Fault(
        "papers/scan_snap/claims.py",
        "(grids[..., -1] - grids[..., 0]).mean(axis=-1)",
        "(grids[..., 0] - grids[..., -1]).mean(axis=-1)",
        "tests/unit/test_scan_snap.py::test_claims_are_all_decided_on_the_synthetic_runs",
        "a difference has the other sign",
    ),
    Fault(
        "papers/scan_snap/entropy_sweep.py",
        'group.loc[group["diverged_at"] < 0, "entropy"].to_numpy()',
        'group["entropy"].to_numpy()',
        "tests/unit/test_scan_snap.py::test_diverged_runs_are_counted_and_never_averaged_in",
        "diverged runs are averaged in",
    ),
    Fault(
        "papers/scan_snap/data.py",
        "np.linspace(0.1, 1, DISTINCT)",
        "np.linspace(1, 0.1, DISTINCT)",
        "tests/unit/test_scan_snap.py::test_the_scan_has_the_numbers_of_the_specification",
        "the rarest token is the most frequent",
    ),
    Fault(
        "papers/scan_snap/data.py",
        "rng.multinomial(task.length - 1, TOKEN_CHANCES",
        "rng.multinomial(task.length, TOKEN_CHANCES",
        "tests/oracle/test_scan_snap.py::test_counts_are_those_of_independent_draws",
        "the query token counts as a contextual one",
    ),
    Fault(
        "papers/scan_snap/simulation.py",
        ", momentum=settings.momentum)",
        ")",
        "tests/unit/test_scan_snap.py::test_the_scan_has_the_numbers_of_the_specification",
        "the momentum of the settings is forgotten",
    ),
    Fault(
        "papers/scan_snap/text.py",
        "for place, text in enumerate(texts) if place not in held]",
        "for place, text in enumerate(texts)]",
        "tests/oracle/test_scan_snap_text.py::test_text_is_split_numbered_and_cut_into_windows",
        "held-out articles are trained on",
    ),
    Fault(
        "papers/scan_snap/language_model.py",
        "random.flips(1 - dropout,",
        "random.flips(dropout,",
        "tests/oracle/test_scan_snap_text.py::test_dropout_drops_its_share_and_keeps_the_mean",
        "masks are drawn with the share that is kept",
    ),
    Fault(
        "papers/scan_snap/language_model.py",
        "(total.log() + top - own)",
        "(total.log() - own)",
        "tests/oracle/test_scan_snap_text.py"
        "::test_the_decoders_loss_by_blocks_equals_torchs_cross_entropy",
        "the largest logit is taken out and not put back",
    ),
    # Topic structure: the probe
    Fault(
        "papers/topic_structure/probe/measures.py",
        "layer + 1, head + 1, ratio",
        "head + 1, layer + 1, ratio",
        "tests/oracle/test_probe_end_to_end.py::test_the_table_of_heads_names_each_layers_heads",
        "layer and head are exchanged in the table of heads",
    ),
    Fault(
        "papers/topic_structure/probe/measures.py",
        "replicates / centres[:, None]",
        "replicates",
        "tests/oracle/test_probe_end_to_end.py"
        "::test_the_measured_ratio_is_the_ratio_of_means_over_all_documents",
        "the interval of a corrected ratio is not corrected",
    ),
    Fault(
        "papers/topic_structure/probe/measures.py",
        "percentile_interval(replicates.mean(axis=0))",
        "percentile_interval(replicates.ravel())",
        "tests/oracle/test_probe_end_to_end.py"
        "::test_measures_over_seeds_share_documents_and_permutations",
        "replicates of all seeds are pooled",
    ),
    Fault(
        "papers/topic_structure/probe/measures.py",
        "ranked = -np.sort(-np.array(ratios), axis=-1)",
        "ranked = np.array(ratios)",
        "tests/oracle/test_probe_end_to_end.py::test_means_over_seeds_rank_the_heads_of_a_layer",
        "heads of different trainings are averaged by their number",
    ),
    Fault(
        "papers/topic_structure/probe/uncertainty.py",
        "values.std(ddof=1) / np.sqrt(len(values))",
        "values.std(ddof=1)",
        "tests/unit/test_probe_statistics.py::test_z_over_seeds_knows_how_much_seeds_differ",
        "z counts the spread of one seed, not of their mean",
    ),
    Fault(
        "papers/topic_structure/probe/similarity.py",
        "own = multiplicity * multiplicity",
        "own = multiplicity",
        "tests/oracle/test_similarity.py::test_weighted_means_agree",
        "a resampled word pairs with its own copies",
    ),
    Fault(
        "papers/topic_structure/probe/uncertainty.py",
        "drawn = moving[np.lexsort((rng.random(len(moving)), strata[moving]))]",
        "drawn = rng.permutation(moving)",
        "tests/unit/test_probe_statistics.py::test_permutation_keeps_frequency_strata",
        "the null permutes across strata",
    ),
    Fault(
        "papers/topic_structure/probe/uncertainty.py",
        "spread = null.std(ddof=1)",
        "spread = null.std()",
        "tests/unit/test_probe_statistics.py::test_z_score_counts_standard_deviations_of_the_null",
        "n instead of n - 1 in the null's deviation",
    ),
    Fault(
        "papers/topic_structure/probe/uncertainty.py",
        "weights = np.where(shared, counts[:, 0], 0.0)",
        "weights = np.where(shared, counts[:, 1], 0.0)",
        "tests/oracle/test_uncertainty.py::test_distance_standardised_ratio_agrees",
        "distances are weighted by different-topic pairs",
    ),
    Fault(
        "papers/topic_structure/probe/uncertainty.py",
        "np.quantile(replicates, [(1 - level) / 2, (1 + level) / 2], axis=0)",
        "np.quantile(replicates, [1 - level, level], axis=0)",
        "tests/unit/test_probe_statistics.py"
        "::test_an_interval_leaves_a_fortieth_of_the_replicates_on_each_side",
        "a 90% interval is called a 95% one",
    ),
    Fault(
        "papers/topic_structure/probe/pairs.py",
        "tokens / self.reference_length",
        "self.reference_length / tokens",
        "tests/unit/test_probe_statistics.py::test_uniform_attention_gives_ratio_one_at_any_length",
        "the correction for length goes the wrong way",
    ),
    Fault(
        "papers/topic_structure/probe/pairs.py",
        "attention[layer] * keys[:, None]",
        "attention[layer] * keys.mean()",
        "tests/oracle/test_causal.py::test_a_random_model_shows_no_topic_structure",
        "the first rows of causal attention, which have few keys, count for more",
    ),
    Fault(
        "papers/topic_structure/probe/pairs.py",
        "np.where(places.behind, first * size + second, second * size + first)",
        "np.where(places.behind, second * size + first, first * size + second)",
        "tests/oracle/test_pairs.py::test_random_documents_agree",
        "causal pairs of words are counted from key to query",
    ),
    Fault(
        "papers/topic_structure/probe/pairs.py",
        'np.searchsorted(DISTANCE_EDGES, np.arange(tokens), side="right") - 1',
        'np.searchsorted(DISTANCE_EDGES, np.arange(tokens), side="left") - 1',
        "tests/unit/test_probe_statistics.py::test_distance_bins_end_where_they_say",
        "pairs at a bin's edge are in the bin before",
    ),
    Fault(
        "papers/topic_structure/probe/labels.py",
        'whole = whole[whole["word"].isin(set(known))]',
        'whole = kept[kept["word"].isin(set(known))]',
        "tests/unit/test_vectors.py"
        "::test_words_of_several_pieces_are_left_out_of_a_models_measures",
        "only the last checkpoint's pieces count",
    ),
    Fault(
        "papers/topic_structure/probe/sums.py",
        "documents += part.documents",
        "documents = part.documents",
        "tests/unit/test_parts.py::test_attention_sums_of_parts_add_up",
        "merged sums name the last part's documents",
    ),
    Fault(
        "papers/topic_structure/probe/attention.py",
        "places = np.sort(order[: settings.documents])",
        "places = np.arange(total)[: settings.documents]",
        "tests/unit/test_parts.py"
        "::test_probed_articles_come_from_the_whole_corpus_and_from_each_place_once",
        "the beginning of a sorted corpus is probed",
    ),
    Fault(
        "papers/topic_structure/probe/labels.py",
        '(rows["overlap"] == first["overlap"]) & (rows["threshold"] == first["threshold"])',
        'rows["overlap"] == first["overlap"]',
        "tests/unit/test_topic_models.py"
        "::test_the_tightest_variant_is_of_one_overlap_mode_and_one_threshold",
        "the words of all thresholds are called the tightest one's",
    ),
    Fault(
        "papers/topic_structure/probe/topic_models.py",
        "sums.of_variant(place)",
        "sums.of_variant(0)",
        "tests/unit/test_topic_models.py"
        "::test_one_pass_measures_what_a_pass_for_each_topic_model_does",
        "every topic model gets the first one's attention",
    ),
    Fault(
        "papers/topic_structure/probe/vectors.py",
        "rows = [place[word] for word in words]",
        "rows = sorted(place[word] for word in words)",
        "tests/unit/test_vectors.py::test_vectors_come_in_the_order_asked_for",
        "vectors belong to other words",
    ),
    # Topic structure: the tables
    Fault(
        "papers/topic_structure/robustness.py",
        'contrary = rows[(rows["value"] > 1) != above]',
        'contrary = rows[(rows["value"] > 0) != above]',
        "tests/unit/test_topic_models.py::test_sign_changes_are_counted_and_named",
        "no topic model ever contradicts the mean",
    ),
    Fault(
        "papers/topic_structure/robustness.py",
        '"topics": backends * seeds * (topics**2).sum()',
        '"topics": sizes * seeds * (topics**2).sum()',
        "tests/unit/test_topic_models.py::test_variance_shares_are_those_of_a_balanced_design",
        "the factors' shares do not add up",
    ),
    Fault(
        "papers/topic_structure/wikipedia.py",
        "return difference((ours.overlap, first), (ours.overlap, last))",
        "return difference((ours.overlap, last), (ours.overlap, first))",
        "tests/unit/test_wikipedia_tables.py::test_directions_are_differences_judged_against_zero",
        "the published direction is reversed",
    ),
    Fault(
        "papers/topic_structure/losses.py",
        'held_out[held_out["tokens"] == 0]',
        'history[history["tokens"] == end]',
        "tests/unit/test_topic_structure_tables.py"
        "::test_losses_are_those_before_training_and_at_its_end",
        "the untrained model's loss is the trained one's",
    ),
    Fault(
        "papers/topic_structure/topic_tables.py",
        '["share", "label"], ascending=[False, True]',
        '["share", "label"], ascending=[True, True]',
        "tests/unit/test_topic_structure_tables.py"
        "::test_a_topic_carries_the_commonest_of_its_human_topics",
        "a topic carries the rarest of its human topics",
    ),
    Fault(
        "papers/topic_structure/corpora.py",
        'labelled = table[table["label"].notna()]',
        "labelled = table",
        "tests/unit/test_corpus.py"
        "::test_the_table_of_corpora_counts_each_corpus_under_its_own_name",
        "articles without a human topic count as labelled",
    ),
    Fault(
        "papers/topic_structure/over_tokens.py",
        'by.loc[f"{quantity}_null_corrected"]',
        "by.loc[quantity]",
        "tests/unit/test_topic_structure_tables.py"
        "::test_ratios_over_tokens_are_set_beside_their_null",
        "readers see the raw ratio under 'ratio / null'",
    ),
    Fault(
        "models/head_removal.py",
        "off = self._off[:, self._layer, None, :, None]",
        "off = self._off[:, 0, None, :, None]",
        "tests/oracle/test_head_removal.py"
        "::test_all_conditions_at_once_are_what_hooks_make_one_by_one",
        "heads of all layers are those of the first",
    ),
    Fault(
        "papers/topic_structure/probe/head_removal.py",
        "RANDOM: self._among(~self.largest, rng)",
        "RANDOM: self._among(self.largest | ~self.largest, rng)",
        "tests/unit/test_head_removal.py::test_other_heads_are_never_the_largest_ones",
        "the largest heads are among the random others",
    ),
    # Topic structure: synthetic
    Fault(
        "papers/local_to_global/attention.py",
        "slope = torch.cat([slope, -(slope * mixed).sum(-1, keepdim=True)], -1)",
        "slope = torch.cat([slope, torch.zeros_like(slope[..., :1])], -1)",
        "tests/unit/test_local_to_global_training.py"
        "::test_attention_over_two_vectors_is_attention_over_what_the_sequences_hold",
        "attention's denominator has no gradient",
    ),
    Fault(
        "papers/topic_structure/synthetic/tables.py",
        'correct["held_out_loss"].fillna(np.inf).groupby([correct[key] for key in runs]).idxmin()',
        'correct["held_out_loss"].fillna(0).groupby([correct[key] for key in runs]).idxmax()',
        "tests/unit/test_topic_structure_training.py"
        "::test_the_table_shows_the_released_budget_the_best_held_out_loss_and_the_end",
        "the largest held-out loss counts as the best",
    ),
    Fault(
        "papers/topic_structure/synthetic/closed_form.py",
        "1 / (vocabulary.v * masking.intact)",
        "1 / vocabulary.v",
        "tests/unit/test_topic_structure_synthetic.py::test_closed_form_gaps_are_the_theorems",
        "the theorem's gap forgets the masking",
    ),
    Fault(
        "papers/topic_structure/synthetic/closed_form.py",
        "(x * weight[:, None]).T @ x / weight.sum()",
        "x.T @ x / len(x)",
        "tests/oracle/test_topic_structure_synthetic.py"
        "::test_the_value_matrixs_optimum_is_the_regression_of_masked_words_on_key_shares",
        "documents with few masked words count as much as others",
    ),
    Fault(
        "papers/topic_structure/synthetic/data.py",
        "(kind >= masking.p_c) & (kind < masking.p_c + masking.p_r)",
        "(kind >= masking.p_c) & (kind < masking.p_r)",
        "tests/unit/test_topic_structure_synthetic.py"
        "::test_masking_keeps_randomises_and_hides_the_stated_shares",
        "no word is replaced by a random one",
    ),
    Fault(
        "papers/topic_structure/synthetic/model.py",
        "value, factor = value / D, 2 / D",
        "value = value / D",
        "tests/oracle/test_topic_structure_synthetic.py"
        "::test_count_space_equals_the_sequence_model",
        "the gradient of the mean squared loss is that of the sum",
    ),
    Fault(
        "papers/topic_structure/synthetic/attention.py",
        "queries = n * counts.sum(axis=1, keepdims=True) / length",
        "queries = n * n.sum(axis=1, keepdims=True) / length",
        "tests/oracle/test_topic_structure_synthetic.py"
        "::test_attention_by_pair_class_equals_loops_over_positions",
        "START does not count in a document's length",
    ),
    Fault(
        "papers/topic_structure/synthetic/training.py",
        'generator("order of documents", seed, epoch)',
        'generator("order of documents", seed)',
        "tests/unit/test_topic_structure_synthetic.py"
        "::test_every_epoch_shows_every_document_once_in_another_order",
        "every epoch reads the documents in the same order",
    ),
    Fault(
        "papers/topic_structure/synthetic/tied.py",
        "(vocabulary.v - 1) / vocabulary.v * alpha + beta / vocabulary.v",
        "(vocabulary.v - 1) / vocabulary.v * beta + alpha / vocabulary.v",
        "tests/unit/test_topic_structure_synthetic.py"
        "::test_the_optimal_ratio_grows_with_tau_and_is_one_for_one_topic",
        "alpha and beta are exchanged in the theorem's ratio",
    ),
    Fault(
        "papers/topic_structure/synthetic/norms.py",
        "np.where(steps < diverged, norm, np.nan)",
        "np.where(steps <= diverged, norm, np.nan)",
        "tests/unit/test_topic_structure_training.py"
        "::test_norms_of_a_diverged_run_end_where_it_diverged",
        "what a run was frozen at counts as a norm",
    ),
    Fault(
        "papers/topic_structure/synthetic/stages.py",
        "grown = KEYS_BEGIN * W_K[0] <= W_K",
        "grown = W_K[0] <= W_K",
        "tests/unit/test_topic_structure_training.py::test_stages_are_read_off_the_norms",
        "W_K begins to grow at the first step",
    ),
    Fault(
        "papers/topic_structure/synthetic/tables.py",
        "return mean(values[~lost])",
        "return mean(values)",
        "tests/unit/test_topic_structure_training.py"
        "::test_a_diverged_run_is_marked_and_never_averaged",
        "diverged runs are averaged in",
    ),
    Fault(
        "papers/topic_structure/synthetic/gaps.py",
        'W_E"].mT @ parameters["W_E"]',
        'W_E"] @ parameters["W_E"].mT',
        "tests/unit/test_topic_structure_training.py"
        "::test_trained_gaps_are_the_theorems_within_one_percent",
        "E is W_E W_E^T",
    ),
    Fault(
        "stability/table.py",
        "same_seeds = claim.loc[[m.name for m in machines if not m.other_seeds]]",
        "same_seeds = claim.loc[[m.name for m in machines]]",
        "tests/unit/test_stability.py::test_spread_between_machines_is_of_the_same_seeds_alone",
        "other seeds count as another machine",
    ),
    Fault(
        "stability/table.py",
        "(high - low) / 2 / stdtrit(n - 1, 0.975)",
        "(high - low) / stdtrit(n - 1, 0.975)",
        "tests/unit/test_stability.py"
        "::test_spread_between_seeds_is_the_standard_error_behind_the_interval",
        "the whole width of an interval counts as its half",
    ),
]
