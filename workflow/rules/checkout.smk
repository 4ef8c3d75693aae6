# Where this project's files lie, also where its Snakefile is a module of another workflow; and its
# library, which rules and steps import from there.
import os
import sys

from snakemake.exceptions import WorkflowError
from snakemake.sourcecache import HostingProviderFile, LocalSourceFile

is_module = not workflow.modifier.is_main_snakefile()
here = workflow.current_basedir
if isinstance(here, LocalSourceFile):
    checkout = os.path.abspath(os.path.join(here, "../.."))
elif isinstance(here, HostingProviderFile):
    # github(...) and its like: Snakemake hands out one file at a time, steps need them all.
    clone = here.hosted_repo.repo
    commit = clone.commit(here.ref).hexsha
    checkout = os.path.abspath(f".snakemake/onelayer/{commit}")
    if not os.path.isdir(checkout):
        unfinished = f"{checkout}.{os.getpid()}"
        clone.clone(unfinished, no_checkout=True).git.checkout(commit)
        os.rename(unfinished, checkout)
else:
    raise WorkflowError(
        f"{here}: onelayer's Snakefile is named by a path or by github(...), because its steps "
        "need all of the repository"
    )

# Steps run with the Python that runs Snakemake (unless an environment is deployed) and import the
# library of this very checkout. Other workflows keep what they have on theirs.
library = os.path.join(checkout, "src")
theirs = os.getenv("PYTHONPATH", "").split(os.pathsep) if is_module else []
os.environ.update(
    PYTHONPATH=os.pathsep.join(filter(None, dict.fromkeys([library, *theirs]))),
    PATH=os.pathsep.join([os.path.dirname(sys.executable), os.getenv("PATH", "")]),
    ONELAYER_RUN=str(os.getpid()),
)
sys.path.insert(0, library)
# A logger plugin may have brought the library of another checkout along.
for module in [name for name in sys.modules if name.partition(".")[0] == "onelayer"]:
    del sys.modules[module]

# Results lie in the working directory, these in the checkout. As one writes paths from there, so
# that no command or record changes when the checkout moves; but a module's prefix is set before
# such a path where it leads down.
reference, captions, predictions = (
    os.path.relpath(place) if not is_module else place
    for place in (
        f"{checkout}/workflow/reference",
        f"{checkout}/workflow/report",
        f"{checkout}/workflow/predictions.csv",
    )
)
