from onelayer.compute.ensemble import Ensemble as Ensemble
from onelayer.compute.ensemble import Optimizer as Optimizer
from onelayer.compute.ensemble import RunRandom as RunRandom
from onelayer.compute.ensemble import Trained as Trained
from onelayer.compute.ensemble import train as train
from onelayer.compute.ensemble import train_in_chunks as train_in_chunks
from onelayer.errors import OnelayerError as OnelayerError
from onelayer.probing import probe_topic_structure as probe_topic_structure
from onelayer.runs import compare as compare
from onelayer.runs import results as results
from onelayer.runs import tables as tables
from onelayer.text.models.checkpoints import load_checkpoint as load_checkpoint
from onelayer.text.models.tokenizer import load_tokenizer as load_tokenizer

__version__: str
