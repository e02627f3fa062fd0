/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Errors of the runtime: their names, and what they mean.
 */
#include "api.h"

namespace gpus
{

cudaError_t&
LastError()
{
    thread_local cudaError_t error = cudaSuccess;
    return error;
}

} // namespace gpus

namespace
{

struct Told
{
    cudaError_t error;
    const char* name;
    const char* meaning;
};

#define TOLD(name, meaning)                                                                        \
    {                                                                                              \
        name, #name, meaning                                                                       \
    }

constexpr Told kTold[] = {
    TOLD(cudaSuccess, "no error"),
    TOLD(cudaErrorInvalidValue, "invalid argument"),
    TOLD(cudaErrorMemoryAllocation, "out of memory"),
    TOLD(cudaErrorInitializationError, "initialization error"),
    TOLD(cudaErrorInvalidConfiguration, "invalid configuration argument"),
    TOLD(cudaErrorInvalidPitchValue, "invalid pitch argument"),
    TOLD(cudaErrorInvalidSymbol, "invalid device symbol"),
    TOLD(cudaErrorInvalidDevicePointer, "invalid device pointer"),
    TOLD(cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy"),
    TOLD(cudaErrorInsufficientDriver,
         "CUDA driver version is insufficient for CUDA runtime version"),
    TOLD(cudaErrorMissingConfiguration, "__global__ function call is not configured"),
    TOLD(cudaErrorInvalidDeviceFunction, "invalid device function"),
    TOLD(cudaErrorNoDevice, "no CUDA-capable device is detected"),
    TOLD(cudaErrorInvalidDevice, "invalid device ordinal"),
    TOLD(cudaErrorInvalidResourceHandle, "invalid resource handle"),
    TOLD(cudaErrorUnsupportedLimit, "limit is not supported on this architecture"),
    TOLD(cudaErrorSymbolNotFound, "named symbol not found"),
    TOLD(cudaErrorNotReady, "device not ready"),
    TOLD(cudaErrorIllegalAddress, "an illegal memory access was encountered"),
    TOLD(cudaErrorPeerAccessAlreadyEnabled, "peer access is already enabled"),
    TOLD(cudaErrorPeerAccessNotEnabled, "peer access has not been enabled"),
    TOLD(cudaErrorHostMemoryAlreadyRegistered, "part or all of the memory is registered already"),
    TOLD(cudaErrorHostMemoryNotRegistered, "pointer is not that of registered memory"),
    TOLD(cudaErrorLaunchFailure, "unspecified launch failure"),
    TOLD(cudaErrorNotSupported, "operation not supported"),
    TOLD(cudaErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing"),
    TOLD(cudaErrorStreamCaptureInvalidated, "operation failed due to a previous error in capture"),
    TOLD(cudaErrorStreamCaptureUnmatched, "capture was not begun in this stream"),
    TOLD(cudaErrorStreamCaptureImplicit, "operation would wait for a stream that is capturing"),
    TOLD(cudaErrorUnknown, "unknown error")};

#undef TOLD

const Told*
Find(cudaError_t error)
{
    for (const Told& told : kTold)
    {
        if (told.error == error)
        {
            return &told;
        }
    }
    return nullptr;
}

} // namespace

extern "C"
{
    const char* cudaGetErrorName(cudaError_t error)
    {
        const Told* told = Find(error);
        return told ? told->name : "unrecognized error code";
    }

    const char* cudaGetErrorString(cudaError_t error)
    {
        const Told* told = Find(error);
        return told ? told->meaning : "unrecognized error code";
    }
}
