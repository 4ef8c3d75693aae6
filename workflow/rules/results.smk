# What is written last: the scoreboard, the crate, the index of all tables and figures. And the
# targets: each result by its name, each paper and its parts by theirs.
decisive = {finding.table for findings in CLAIMS.values() for finding in findings}


use rule step as tabulate_scoreboard with:
    input:
        # Of claims whose tables these settings leave out it says so.
        judged=[f"{made.base}.csv" for made in results.made("table") if made.name in decisive],
    output:
        tables=table("all_papers/scoreboard", "Scoreboard", "table: every claim"),
        record=record,
    pathvars:
        step="tabulate_scoreboard",
    localrule: True
    resources:
        **asks(500, minutes=5),
    params:
        **script("tabulate_scoreboard"),


with in_one_line():
    results.check()
    check_findings(FINDINGS, results.names("table"), Path(reference))


use rule tabulate_scoreboard as write_crate with:
    input:
        results=[file for kind in FORMS for made in results.made(kind) for file in made.files],
    output:
        metadata="results/ro-crate-metadata.json",
        record=record,
    pathvars:
        step="write_crate",
    localrule: True
    params:
        **script("write_crate"),


use rule tabulate_scoreboard as write_index with:
    input:
        tables=[f"{table.base}.csv" for table in results.made("table")],
        figures=[f"{figure.base}.png" for figure in results.made("figure")],
        animations=[f"{animation.base}.gif" for animation in results.made("animation")],
        captions=sorted({f"{captions}/{r.caption}.rst" for r in results.declared.values()}),
        findings="results/findings.md",
    output:
        index="results/index.md",
        verdicts=report("results/verdicts.html", category="Verdicts", labels={"result": "counts"}),
        overview="results/overview.html",
        record=record,
    pathvars:
        step="write_index",
    localrule: True
    params:
        **script("write_index", captions={r.base: r.caption for r in results.declared.values()}),


use rule tabulate_scoreboard as write_findings with:
    input:
        tables=[f"{table.base}.csv" for table in results.made("table")],
        predictions=predictions,
    output:
        findings="results/findings.md",
        record=record,
    pathvars:
        step="write_findings",
    localrule: True
    params:
        **script("write_findings", figures=[figure.name for figure in results.made("figure")]),


made_by_themselves = {declaration.rule for declaration in declarations}
for target, files in results.targets().items():
    if target in made_by_themselves:
        continue

    rule:
        name:
            target
        input:
            files,
        localrule: True


# What docs/reference/sums.json has the sums of. The stability table measures how far bytes differ.
rule same_bytes:
    input:
        tables=[f"{t.base}.csv" for t in results.made("table") if t.folder != "stability"],
        models=[
            f"results/models/{checkpoint}/model.safetensors"
            for name, model in settings.models.items()
            if model.source == "pretrain"
            for checkpoint in settings.checkpoints(name)
        ],
    localrule: True
