# What rules are written with: results that they declare, and the command line of their files.
# Every output of a step stands in its record.
record = "results/records/<step>.json"


def table(name, section, label, **options):
    """All forms of a table, for `tables=` of its rule; see `Registry.declare`."""
    return declared("table", name, section, label, **options)


def figure(name, section, label, **options):
    """All forms of a figure, for `figures=` of its rule."""
    return declared("figure", name, section, label, **options)


def animation(name, section, label, **options):
    """All forms of an animation, for `animations=` of its rule."""
    return declared("animation", name, section, label, **options)


def declared(kind, name, section, label, **options):
    try:
        result = results.declare(kind, name, section, label, **options)
    except OnelayerError as error:
        raise WorkflowError(str(error)) from None
    *others, shown = result.files
    described = report(
        shown,
        caption=f"../report/{result.caption}.rst",
        category=FOLDERS[result.folder],
        subcategory=section,
        labels={"result": label},
    )
    return [*others, described]


def command_line(wildcards, input, output):
    """Every file of a step under the name that it has in the rule."""
    words = []
    for name, files in (*input.items(), *output.items()):
        words.append(f"--{name.replace('_', '-')}")
        # A file's name may begin as an option does.
        places = [files] if isinstance(files, str) else files
        words += [shlex.quote(f"./{file}" if file.startswith("-") else file) for file in places]
    return " ".join(words)
