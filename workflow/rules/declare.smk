# What rules are written with: results that they declare, and their files.
# The values of wildcards in outputs of which a declared result reads all.
every = {}


def declared(kind, name, section, label, **options):
    """All forms of a result, for `tables`, `figures` and `animations` of its rule."""
    with in_one_line():
        result = results.declare(kind, name, section, label, **options)
    *others, shown = result.files
    described = report(
        shown,
        caption=f"../report/{result.caption}.rst",
        category=FOLDERS[result.folder],
        subcategory=section,
        labels={"result": label},
    )
    return [*others, described]


def declared_files(declaration):
    """All forms of a declared result."""
    d = declaration
    options = {name: getattr(d, name) for name in ("caption", "target") if getattr(d, name)}
    options["made"] = not d.made or bool(variable(d.made, d))
    values = {name: place_in_settings(place, d) for name, place in d.wildcards.items()}
    return declared(d.kind, d.name, d.section, d.label, **options, **values)


def files_of(declaration):
    """What a declared result reads: its inputs, by the function's parameters."""
    return {name: find_files(read, declaration) for name, read in declaration.reads.items()}


def find_files(read, declaration):
    folder, _, rest = read.partition("/")
    if rest:
        return {"reference": f"{reference}/{rest}", "tables": f"results/tables/{rest}"}[folder]
    step, _, output = read.partition(".")
    if not output:
        return variable(read, declaration)
    pattern = getattr(rules, step).output[output]
    named = re.findall(r"\{(\w+)", pattern)
    return expand(pattern, **{name: every[name] for name in named}) if named else pattern


def settings_for(declaration):
    """The settings of a declared result, by the function's parameters, its wildcards among them."""
    values = {name: place_in_settings(p, declaration) for name, p in declaration.settings.items()}
    return values | {name: wildcard(name) for name in declaration.wildcards}


def place_in_settings(place, declaration):
    """A block or value of the settings, or a variable of the rules that was made of some."""
    value = settings
    for name in place.split("."):
        if not hasattr(value, name):
            return variable(place, declaration)
        value = getattr(value, name)
    return value


def variable(name, declaration):
    if name not in globals():
        raise OnelayerError(f"{declaration.step}: {name} is neither declared nor in the settings")
    return globals()[name]


def wildcard(name):
    return lambda wildcards: wildcards[name]


def command_line(wildcards, input, output):
    """Every file of a step under the name that it has in the rule."""
    words = []
    for name, files in (*input.items(), *output.items()):
        words.append(f"--{name.replace('_', '-')}")
        # A file's name may begin as an option does.
        places = [files] if isinstance(files, str) else files
        words += [shlex.quote(f"./{file}" if file.startswith("-") else file) for file in places]
    return " ".join(words)


# What sets the kernels of every step: libraries read their switches when Python starts.
step_switches = dict(
    switches=assignments() if settings.portable else "",
    portable=" --portable" if settings.portable else "",
)


def below(folder, **files):
    """Files of one folder, by their names in a step."""
    return {name: f"{folder}/{file}" for name, file in files.items()}


def alike(pattern, *names):
    """Files that differ by their names in a step."""
    return {name: pattern.replace("*", name) for name in names}


def one_of(names):
    """What a wildcard may be where it is one of these names."""
    return "|".join(map(re.escape, names)) or "none"


def named(models):
    """Models of the settings with their names, as tables and figures take them."""
    return [{"name": name, "settings": settings.models[name]} for name in models]


def measured(name, models):
    """What was measured of models on the corpus of the Wikipedia tables."""
    folder = f"results/measures/{wikipedia.corpus}"
    return [f"{folder}/{model['name']}/{name}.parquet" for model in models]


def by_corpus(whole, part):
    """The files of each corpus: one, or one a part."""
    pattern = lambda name: part if name in in_parts else whole
    return {n: expand(pattern(n), corpus=n, part=in_parts.get(n, [""])) for n in settings.corpora}


def articles_of(corpus):
    """The files of a corpus's articles: one, or one a part."""
    return settings.corpora[corpus].articles(f"results/corpus/{corpus}")


def articles(w):
    """Those of the corpus that a rule's wildcard names."""
    return articles_of(w.corpus)


def pretraining_text(w):
    """What a model is pretrained on."""
    mixed = w.pretrained in mixed_inputs
    text = rules.mix_articles.output.mixed if mixed else rules.encode_articles.output.text
    return expand(text, mixed=w.pretrained, corpus=settings.pretraining.text_name)


def checkpoint_files(*names):
    """The files of checkpoints."""
    return [f"results/models/{name}/{file}" for name in names for file in CHECKPOINT_FILES]


def first_files(model, *names):
    """Files of a model's first checkpoint."""
    return multiext(f"results/models/{settings.checkpoints(model)[0]}/", *names)


def encoded_articles(*outputs):
    """What `encode_articles` made of the articles that models are pretrained on."""
    made, of = rules.encode_articles.output, settings.pretraining.text_name
    return {name: expand(made[name], corpus=of) for name in outputs}


def of_trainings(pattern):
    """The files of a pretrained model's trainings."""
    return lambda w: expand(pattern, pretrained=w.pretrained, seed=settings.seeds(w.pretrained))


def of_checkpoints(pattern):
    """The files of a model's checkpoints."""
    return lambda w: expand(pattern, corpus=w.corpus, checkpoint=settings.checkpoints(w.model))


def of_first_checkpoints(pattern, corpus, models):
    """A file of the first checkpoint of each model."""
    return expand(pattern, corpus=corpus, checkpoint=[settings.checkpoints(m)[0] for m in models])


def of_series(pattern):
    """The files of a series' checkpoints, each of which is a model of its own."""
    return lambda w: expand(pattern, corpus=w.corpus, model=settings.checkpoints(w.series))
