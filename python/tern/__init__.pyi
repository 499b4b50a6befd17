from tern import linalg as linalg, sparse as sparse
from tern._capture import capture as capture
from tern._devices import Device as Device, devices as devices
from tern._embeddings import export_embeddings as export_embeddings
from tern._errors import (
    BadFile as BadFile,
    Cancelled as Cancelled,
    Error as Error,
    InternalError as InternalError,
    InvalidArgument as InvalidArgument,
    IoError as IoError,
    OutOfMemory as OutOfMemory,
    RunError as RunError,
    Unsupported as Unsupported,
)
from tern._export import export as export
from tern._files import Finding as Finding, validate as validate
from tern._inspect import inspect as inspect
from tern._llm import export_llm as export_llm
from tern._log import set_log as set_log
from tern._report import ExportReport as ExportReport
from tern._tern import (
    ChatTemplate as ChatTemplate,
    Function as Function,
    Graph as Graph,
    Model as Model,
    NodeTime as NodeTime,
    Session as Session,
    SessionStats as SessionStats,
    StateInfo as StateInfo,
    Tensor as Tensor,
    TextAnswer as TextAnswer,
    TextEmbedder as TextEmbedder,
    TextEngine as TextEngine,
    TextStream as TextStream,
    Tokenizer as Tokenizer,
    Trace as Trace,
    TraceEvent as TraceEvent,
    ValueInfo as ValueInfo,
    load as load,
    scope as scope,
)
from tern._verify import verify as verify

__version__: str
