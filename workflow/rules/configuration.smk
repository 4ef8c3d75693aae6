# How what is wrong is said, and what a module was given to do: an overlay, as `--configfile` names.
from snakemake.common.configfile import load_configfile
from snakemake.utils import update_config


@contextmanager
def in_one_line():
    """Say what a user can put right in one line, without a traceback."""
    try:
        yield
    except OnelayerError as error:
        raise WorkflowError(str(error)) from None


def overlay_of_module(given):
    """The configuration that a module was given, on top of config.yaml; without one, config.yaml."""
    if not workflow.modifier.skip_configfile:
        return given
    if not given:
        raise OnelayerError(
            "config: the module has an empty configuration; give it the keys of config.yaml that "
            "it shall change, or leave `config:` out for all of config.yaml"
        )
    merged = load_configfile(f"{checkout}/config.yaml")
    update_config(merged, given)
    return merged
