# What is written last: the scoreboard, the crate, the index of all tables and figures. And the
# targets: each result by its name, each paper and its parts by theirs.
decisive = {finding.table for findings in CLAIMS.values() for finding in findings}
step(
    "tabulate_scoreboard",
    (500, 5),
    {"tables": declared("table", "all_papers/scoreboard", "Scoreboard", "table: every claim")},
    reads={
        # Of claims whose tables these settings leave out it says so.
        "judged": [f"{made.base}.csv" for made in results.made("table") if made.name in decisive]
    },
    localrule=True,
)


with in_one_line():
    results.check()
    check_findings(FINDINGS, results.names("table"), Path(reference))


step(
    "write_crate",
    (500, 5),
    {"metadata": "results/ro-crate-metadata.json"},
    reads={
        "results": [file for kind in FORMS for made in results.made(kind) for file in made.files]
    },
    localrule=True,
)
step(
    "write_index",
    (500, 5),
    {
        "index": "results/index.md",
        "verdicts": report(
            "results/verdicts.html", category="Verdicts", labels={"result": "counts"}
        ),
        "overview": "results/overview.html",
    },
    reads={
        "tables": [f"{table.base}.csv" for table in results.made("table")],
        "figures": [f"{figure.base}.png" for figure in results.made("figure")],
        "animations": [f"{animation.base}.gif" for animation in results.made("animation")],
        "captions": sorted({f"{captions}/{r.caption}.rst" for r in results.declared.values()}),
        "findings": "results/findings.md",
    },
    localrule=True,
    captions={r.base: r.caption for r in results.declared.values()},
)
step(
    "write_findings",
    (500, 5),
    {"findings": "results/findings.md"},
    reads={
        "tables": [f"{table.base}.csv" for table in results.made("table")],
        "predictions": predictions,
    },
    localrule=True,
    figures=[figure.name for figure in results.made("figure")],
)
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
