# Every table and figure that stands at its function: see onelayer.evidence.declarations. Without
# wildcards its rule has its target's name, and is it.
with in_one_line():
    declarations = read_declarations()
declarations.sort(key=lambda d: [*FOLDERS, d.folder].index(d.folder))
for declaration in declarations:
    with in_one_line():
        inputs, values = files_of(declaration), settings_for(declaration)
    step(
        declaration.place,
        (1000, 10),
        {f"{declaration.kind}s": declared_files(declaration)},
        reads=inputs,
        program=declaration.step,
        purpose=declaration.purpose,
        priority=declaration.priority,
        localrule=True,
        **values,
    )
