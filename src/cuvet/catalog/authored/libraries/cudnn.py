"""cuDNN: handles, descriptors, descriptors of its backend."""

from cuvet.catalog.authored.words import Reasons, Roles, sets_workspace, uses
from cuvet.catalog.kinds import Kind

_DESCRIPTORS = """
    Activation Algorithm Attn CTCLoss Convolution Dropout Filter LRN OpTensor Pooling RNN RNNData ReduceTensor SeqData
    SpatialTransformer Tensor TensorTransform
""".split()
HANDLES = {
    "cudnnHandle_t": Kind.CUDNN_HANDLE,
    "cudnnBackendDescriptor_t": Kind.CUDNN_BACKEND_DESCRIPTOR,
    **{f"cudnn{noun}Descriptor_t": Kind.CUDNN_DESCRIPTOR for noun in _DESCRIPTORS},
    "cudnnFusedOpsConstParamPack_t": Kind.CUDNN_DESCRIPTOR,
    "cudnnFusedOpsVariantParamPack_t": Kind.CUDNN_DESCRIPTOR,
    "cudnnFusedOpsPlan_t": Kind.CUDNN_DESCRIPTOR,
    "cudnnPersistentRNNPlan_t": Kind.CUDNN_DESCRIPTOR,
}
WORKSPACES = frozenset({"workSpace", "workspace"})
UNTRACKED: Reasons = {
    "cudnnAlgorithmPerformance_t": "a measurement of cuDNN 8, made many at a time",
    "cudnnCallback_t": "sets or reads where cuDNN logs",
}

_KEEPS_STATES = (
    uses(Kind.CUDNN_DESCRIPTOR, "dropoutDesc"),
    uses(Kind.CUDNN_HANDLE, "handle", null=True),
    sets_workspace("states", of="dropoutDesc", size="stateSizeInBytes"),
)

ROLES: Roles = {
    "cudnnSetDropoutDescriptor": _KEEPS_STATES,
    "cudnnRestoreDropoutDescriptor": _KEEPS_STATES,
}

_VERSION = "reports a version"
_CHECK = "compares versions of cuDNN's own libraries"
_TEXT = "names an error"

NO_ROLE: Reasons = {
    "cudnnAdvInferVersionCheck": _CHECK,
    "cudnnAdvTrainVersionCheck": _CHECK,
    "cudnnAdvVersionCheck": _CHECK,
    "cudnnCnnInferVersionCheck": _CHECK,
    "cudnnCnnTrainVersionCheck": _CHECK,
    "cudnnCnnVersionCheck": _CHECK,
    "cudnnGetCudartVersion": _VERSION,
    "cudnnGetErrorString": _TEXT,
    "cudnnGetLastErrorString": _TEXT,
    "cudnnGetMaxDeviceVersion": _VERSION,
    "cudnnGetProperty": _VERSION,
    "cudnnGetVersion": _VERSION,
    "cudnnGraphVersionCheck": _CHECK,
    "cudnnLongFFTCausalConv1dGetBufferSizes": "computes sizes from numbers",
    "cudnnOpsInferVersionCheck": _CHECK,
    "cudnnOpsTrainVersionCheck": _CHECK,
    "cudnnOpsVersionCheck": _CHECK,
    "cudnnSubquadraticOpsVersionCheck": _CHECK,
}
