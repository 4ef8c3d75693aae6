# What is written last: the scoreboard, and the index of all results. Included after all other
# rules, whose tables, figures and captions it collects.
from onelayer.errors import OnelayerError
from onelayer.evidence.claims import load as load_claims

WORKFLOW = Path(workflow.basedir, "workflow")
names = [file.removeprefix("results/tables/").removesuffix(".csv") for file in TABLES]
try:
    CLAIMS = load_claims(WORKFLOW / "claims.yaml", names, WORKFLOW / "reference")
except OnelayerError as error:
    sys.exit(str(error))


# In the order of the workflow: the first line that `sha256sum --check` refuses is the first step
# whose bytes differ.
rule sums:
    input:
        [
            f"results/models/{checkpoint}/model.safetensors"
            for name in wikipedia.models
            if settings.models[name].source == "pretrain"
            for checkpoint in checkpoints_of(name)
        ],
        list(TABLES),
    output:
        "results/SHA256SUMS",
    log:
        "results/logs/sums.log",
    localrule: True
    message:
        "Write the sums of weights and tables"
    shell:
        "sha256sum {input} > {output} 2> {log}"


rule scoreboard:
    input:
        tables=list(TABLES),
        figures=list(FIGURES),
    output:
        table=table("all_papers/scoreboard"),
        figure=figure("all_papers/scoreboard"),
        findings="results/findings.md",
        index="results/index.md",
        summary="results/summary.txt",
        settings="results/settings.yaml",
    log:
        "results/logs/scoreboard.log",
    localrule: True
    params:
        claims=CLAIMS,
        settings=dump(settings),
        # Of every rule above that shows something: its caption, then its tables and figures.
        shown=[
            [rule.params.get("caption", ""), *files]
            for rule in workflow.rules
            if (files := [str(f) for f in rule.output if f in TABLES or f in FIGURES])
        ],
        credits=sorted({settings.corpora[n].credit for ns in settings.texts.values() for n in ns}),
        code=code("scoreboard"),
        caption="Every claim of the four papers by verdict, with the number of claims. Stand-ins "
        "are smaller or other models, or other texts, than the paper's.",
    message:
        "Judge every claim of the papers, and write the index of all results"
    script:
        "../../scripts/scoreboard.py"
