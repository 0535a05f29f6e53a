#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <stdexcept>
#include <string>

struct Matrix {
    float* data;
    int rows;
    int cols;
};

static void require(cublasStatus_t status, const char* what)
{
    if (status != CUBLAS_STATUS_SUCCESS)
        throw std::runtime_error(std::string(what) + ": " + std::to_string(static_cast<int>(status)));
}

bool multiply(const Matrix& a, const Matrix& b, Matrix& c, cudaStream_t stream)
{
    if (a.cols != b.rows || c.rows != a.rows || c.cols != b.cols)
        return false;
    cublasHandle_t handle = nullptr;
    require(cublasCreate(&handle), "cublasCreate");
    const float alpha = 1.0f;
    const float beta = 0.0f;
    cublasStatus_t status = cublasSetStream(handle, stream);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, a.rows, b.cols, a.cols, &alpha, a.data, a.rows,
                             b.data, b.rows, &beta, c.data, c.rows);
    cublasDestroy(handle);
    return status == CUBLAS_STATUS_SUCCESS;
}
