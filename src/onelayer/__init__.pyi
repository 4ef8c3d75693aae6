from onelayer.ensemble import Ensemble as Ensemble
from onelayer.ensemble import Optimizer as Optimizer
from onelayer.ensemble import RunRandom as RunRandom
from onelayer.ensemble import Trained as Trained
from onelayer.ensemble import train as train
from onelayer.ensemble import train_in_chunks as train_in_chunks
from onelayer.errors import OnelayerError as OnelayerError
from onelayer.probe import probe_topic_structure as probe_topic_structure
from onelayer.text.models.checkpoints import load_checkpoint as load_checkpoint
from onelayer.text.models.tokenizer import load_tokenizer as load_tokenizer

__version__: str
