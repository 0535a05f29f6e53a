"""cuDNN: handles, descriptors, descriptors of its backend."""

from cuvet.catalog.authored.words import *
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

ROLES: Roles = {**alike("cudnnSetDropoutDescriptor cudnnRestoreDropoutDescriptor", *_KEEPS_STATES)}


NO_ROLE: ByReason = {
    "compares versions of cuDNN's own libraries": """
        cudnnAdvInferVersionCheck cudnnAdvTrainVersionCheck cudnnAdvVersionCheck cudnnCnnInferVersionCheck
        cudnnCnnTrainVersionCheck cudnnCnnVersionCheck cudnnGraphVersionCheck cudnnOpsInferVersionCheck
        cudnnOpsTrainVersionCheck cudnnOpsVersionCheck cudnnSubquadraticOpsVersionCheck
    """,
    "reports a version": "cudnnGetCudartVersion cudnnGetMaxDeviceVersion cudnnGetProperty cudnnGetVersion",
    "names an error": "cudnnGetErrorString cudnnGetLastErrorString",
    "computes sizes from numbers": "cudnnLongFFTCausalConv1dGetBufferSizes",
}
