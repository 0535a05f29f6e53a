// The few functions of cuBLAS 13 and cuDNN 9 that handles.cpp uses: their headers are in no package that the tests
// have.
#pragma once

#include <cuda_runtime_api.h>

extern "C" {
using cublasStatus_t = int;  // 0: CUBLAS_STATUS_SUCCESS
using cublasHandle_t = struct cublasContext*;
enum cublasOperation_t { CUBLAS_OP_N = 0 };
#define cublasCreate cublasCreate_v2
#define cublasDestroy cublasDestroy_v2
#define cublasSetStream cublasSetStream_v2
#define cublasSgemm cublasSgemm_v2
cublasStatus_t cublasCreate(cublasHandle_t* handle);
cublasStatus_t cublasDestroy(cublasHandle_t handle);
cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream);
cublasStatus_t cublasSgemm(cublasHandle_t handle, cublasOperation_t a_op, cublasOperation_t b_op, int m, int n, int k,
                           const float* alpha, const float* a, int a_lead, const float* b, int b_lead,
                           const float* beta, float* c, int c_lead);
const char* cublasGetStatusName(cublasStatus_t status);

using cudnnStatus_t = int;  // 0: CUDNN_STATUS_SUCCESS
using cudnnHandle_t = struct cudnnContext*;
using cudnnTensorDescriptor_t = struct cudnnTensorStruct*;
using cudnnActivationDescriptor_t = struct cudnnActivationStruct*;
enum cudnnTensorFormat_t { CUDNN_TENSOR_NCHW = 0 };
enum cudnnDataType_t { CUDNN_DATA_FLOAT = 0 };
enum cudnnActivationMode_t { CUDNN_ACTIVATION_RELU = 1 };
enum cudnnNanPropagation_t { CUDNN_NOT_PROPAGATE_NAN = 0 };
cudnnStatus_t cudnnCreate(cudnnHandle_t* handle);
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle);
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream);
cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* tensor);
cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t tensor, cudnnTensorFormat_t format,
                                         cudnnDataType_t type, int n, int c, int h, int w);
cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t tensor);
cudnnStatus_t cudnnCreateActivationDescriptor(cudnnActivationDescriptor_t* activation);
cudnnStatus_t cudnnSetActivationDescriptor(cudnnActivationDescriptor_t activation, cudnnActivationMode_t mode,
                                           cudnnNanPropagation_t nan, double ceiling);
cudnnStatus_t cudnnDestroyActivationDescriptor(cudnnActivationDescriptor_t activation);
cudnnStatus_t cudnnActivationForward(cudnnHandle_t handle, cudnnActivationDescriptor_t activation, const void* alpha,
                                     cudnnTensorDescriptor_t x_tensor, const void* x, const void* beta,
                                     cudnnTensorDescriptor_t y_tensor, void* y);
const char* cudnnGetErrorString(cudnnStatus_t status);
}
