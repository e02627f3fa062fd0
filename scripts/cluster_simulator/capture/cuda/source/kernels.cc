/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Kernels, as nvcc's code for the host registers and launches them. They have names, grids and
 * times; what they compute is not known.
 */
#include "api.h"
#include "places.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <cxxabi.h>
#include <fnmatch.h>
#include <map>
#include <string>
#include <vector>

namespace gpus
{

namespace
{

struct Registered
{
    std::string name;
};

struct Variable
{
    std::size_t size = 0;
    void* address = nullptr; ///< on the GPU, once it is asked for
};

struct Registry
{
    std::map<const void*, Registered> kernels; ///< by the function on the host
    std::map<const void*, Variable> variables;
};

/// The compiler's code registers before main, from constructors.
Registry&
TheRegistry()
{
    static Registry& registry = *new Registry;
    return registry;
}

std::string
Demangled(const char* name)
{
    int status = 0;
    char* text = abi::__cxa_demangle(name, nullptr, nullptr, &status);
    const std::string demangled = text && status == 0 ? text : name;
    std::free(text);
    return demangled;
}

/// Grid, block, shared memory and stream of the launches that a thread is about to make.
struct Configuration
{
    dim3 grid;
    dim3 block;
    std::size_t shared = 0;
    void* stream = nullptr;
};

std::vector<Configuration>&
Configurations()
{
    thread_local std::vector<Configuration> configurations;
    return configurations;
}

std::string
Sizes(const dim3& size)
{
    return "[" + std::to_string(size.x) + ", " + std::to_string(size.y) + ", " +
           std::to_string(size.z) + "]";
}

} // namespace

KernelTime
TimeOf(const std::string& name)
{
    static auto& known = *new std::map<std::string, KernelTime>;
    const auto [found, isNew] = known.try_emplace(name);
    if (isNew)
    {
        found->second.time = TheSettings().launch;
        for (const auto& [pattern, time] : TheSettings().kernels)
        {
            if (!found->second.isGiven && fnmatch(pattern.c_str(), name.c_str(), 0) == 0)
            {
                found->second = {time, true};
            }
        }
        Note("kernels do not run: what they would compute is not known");
        if (!found->second.isGiven)
        {
            Note("kernels whose time is not given take as long as a launch; --kernel-times=FILE "
                 "gives "
                 "times");
        }
    }
    return found->second;
}

const void*
RegisterKernel(const char* name)
{
    static auto& handles = *new std::map<std::string, char>;
    Call call;
    const void* handle = &handles[name];
    TheRegistry().kernels[handle].name = Demangled(name);
    return handle;
}

cudaError_t
Launch(const void* function, dim3 grid, dim3 block, void* handle)
{
    Call call;
    const auto& kernels = TheRegistry().kernels;
    const auto found = kernels.find(function);
    if (found == kernels.end())
    {
        return cudaErrorInvalidDeviceFunction;
    }
    Stream* stream = call.machine.Find(handle);
    if (!stream)
    {
        return cudaErrorInvalidResourceHandle;
    }
    // CUDA C++ Programming Guide, technical specifications per compute capability.
    if (grid.x == 0 || grid.y == 0 || grid.z == 0 || block.x == 0 || block.y == 0 || block.z == 0 ||
        uint64_t{block.x} * block.y * block.z > 1024 || block.z > 64 || grid.y > 65535 ||
        grid.z > 65535)
    {
        return cudaErrorInvalidConfiguration;
    }
    const std::string name = found->second.name;
    const KernelTime takes = TimeOf(name);
    Machine& machine = call.machine;
    const std::string place = Places();
    machine.Issue(stream, [&machine, name, grid, block, takes, place](Stream* on) {
        RecordAt(place,
                 "kernel",
                 *on,
                 ", \"n\": " + Quoted(name) + ", \"grid\": " + Sizes(grid) +
                     ", \"block\": " + Sizes(block) + ", \"ps\": " + std::to_string(takes.time) +
                     ", \"given\": " + (takes.isGiven ? "true" : "false"));
        machine.AddTimed(on, takes.time, {});
    });
    machine.Progress(call.lock);
    return cudaSuccess;
}

} // namespace gpus

using namespace gpus;

extern "C"
{
    void** __cudaRegisterFatBinary(void* binary)
    {
        static void* handle = nullptr;
        handle = binary;
        return &handle;
    }

    void __cudaRegisterFatBinaryEnd(void**)
    {
    }

    void __cudaUnregisterFatBinary(void**)
    {
    }

    char __cudaInitModule(void**)
    {
        return 0;
    }

    void __cudaRegisterFunction(void**,
                                const char* hostFunction,
                                char*,
                                const char* deviceName,
                                int,
                                uint3*,
                                uint3*,
                                dim3*,
                                dim3*,
                                int*)
    {
        TheRegistry().kernels[hostFunction].name = Demangled(deviceName);
    }

    void __cudaRegisterVar(void**,
                           char* variable,
                           char*,
                           const char*,
                           int,
                           std::size_t size,
                           int,
                           int)
    {
        TheRegistry().variables[variable].size = size;
    }

    void __cudaRegisterManagedVar(void**,
                                  void** pointer,
                                  char*,
                                  const char*,
                                  int,
                                  std::size_t size,
                                  int,
                                  int)
    {
        *pointer = std::calloc(1, size);
    }

    unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared, void* stream)
    {
        Configurations().push_back({grid, block, shared, stream});
        return 0;
    }

    cudaError_t __cudaPopCallConfiguration(dim3* grid,
                                           dim3* block,
                                           std::size_t* shared,
                                           void* stream)
    {
        if (Configurations().empty())
        {
            return Result(cudaErrorMissingConfiguration);
        }
        const Configuration& last = Configurations().back();
        *grid = last.grid;
        *block = last.block;
        *shared = last.shared;
        *static_cast<void**>(stream) = last.stream;
        Configurations().pop_back();
        return cudaSuccess;
    }

    cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function)
    {
        // A function on the host is its kernel's handle.
        *kernel = static_cast<cudaKernel_t>(const_cast<void*>(function));
        return cudaSuccess;
    }

    cudaError_t __cudaLaunchKernel(cudaKernel_t kernel,
                                   dim3 grid,
                                   dim3 block,
                                   void**,
                                   std::size_t,
                                   cudaStream_t stream)
    {
        return Result(Launch(kernel, grid, block, stream));
    }

    cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel,
                                        dim3 grid,
                                        dim3 block,
                                        void**,
                                        std::size_t,
                                        cudaStream_t stream)
    {
        return Result(Launch(kernel, grid, block, stream));
    }

    cudaError_t cudaLaunchKernel(const void* function,
                                 dim3 grid,
                                 dim3 block,
                                 void**,
                                 std::size_t,
                                 cudaStream_t stream)
    {
        return Result(Launch(function, grid, block, stream));
    }

    cudaError_t cudaLaunchCooperativeKernel(const void* function,
                                            dim3 grid,
                                            dim3 block,
                                            void**,
                                            std::size_t,
                                            cudaStream_t stream)
    {
        return Result(Launch(function, grid, block, stream));
    }

    cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* how, const void* function, void**)
    {
        return Result(how ? Launch(function, how->gridDim, how->blockDim, how->stream)
                          : cudaErrorInvalidValue);
    }

    cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function)
    {
        if (!attributes || !TheRegistry().kernels.count(function))
        {
            return Result(cudaErrorInvalidDeviceFunction);
        }
        // (Members that all versions of the structure begin with.)
        std::memset(attributes, 0, sizeof(*attributes));
        attributes->maxThreadsPerBlock = 1024;
        attributes->numRegs = 32; // assumed
        attributes->binaryVersion = TheSettings().major * 10 + TheSettings().minor;
        attributes->ptxVersion = attributes->binaryVersion;
        return cudaSuccess;
    }

    cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int)
    {
        return cudaSuccess;
    }

    cudaError_t cudaFuncSetCacheConfig(const void*, cudaFuncCache)
    {
        return cudaSuccess;
    }

    cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks,
                                                              const void*,
                                                              int blockSize,
                                                              std::size_t)
    {
        if (!blocks || blockSize <= 0)
        {
            return Result(cudaErrorInvalidValue);
        }
        // By threads alone: 2,048 of a multiprocessor, 32 blocks (compute capability 8.0 and 9.0).
        *blocks = blockSize > 1024 ? 0 : std::min(32, 2048 / blockSize);
        return cudaSuccess;
    }

    cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks,
                                                                       const void* function,
                                                                       int blockSize,
                                                                       std::size_t shared,
                                                                       unsigned)
    {
        return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, blockSize, shared);
    }

    cudaError_t cudaGetSymbolAddress(void** address, const void* symbol)
    {
        Call call;
        auto& variables = TheRegistry().variables;
        const auto found = variables.find(symbol);
        if (!address || found == variables.end())
        {
            return Result(cudaErrorInvalidSymbol);
        }
        Variable& variable = found->second;
        if (!variable.address)
        {
            variable.address = call.machine.memory().Allocate(call.machine.CurrentGpu().number,
                                                              variable.size,
                                                              false);
        }
        *address = variable.address;
        return Result(variable.address ? cudaSuccess : cudaErrorMemoryAllocation);
    }

    cudaError_t cudaGetSymbolSize(std::size_t* size, const void* symbol)
    {
        const auto& variables = TheRegistry().variables;
        const auto found = variables.find(symbol);
        if (!size || found == variables.end())
        {
            return Result(cudaErrorInvalidSymbol);
        }
        *size = found->second.size;
        return cudaSuccess;
    }

    /// Where a copy of a variable begins; past its end there is nothing.
    static cudaError_t InVariable(char** at,
                                  const void* symbol,
                                  std::size_t count,
                                  std::size_t offset)
    {
        std::size_t size = 0;
        void* address = nullptr;
        if (const cudaError_t error = cudaGetSymbolSize(&size, symbol))
        {
            return error;
        }
        if (offset > size || count > size - offset)
        {
            return Result(cudaErrorInvalidValue);
        }
        const cudaError_t error = cudaGetSymbolAddress(&address, symbol);
        *at = static_cast<char*>(address) + offset;
        return error;
    }

    cudaError_t cudaMemcpyToSymbol(const void* symbol,
                                   const void* from,
                                   std::size_t count,
                                   std::size_t offset,
                                   cudaMemcpyKind kind)
    {
        char* address = nullptr;
        const cudaError_t error = InVariable(&address, symbol, count, offset);
        return error ? error
                     : Result(CopyOn(nullptr, {address, count, from, count, count}, kind, true));
    }

    cudaError_t cudaMemcpyFromSymbol(void* to,
                                     const void* symbol,
                                     std::size_t count,
                                     std::size_t offset,
                                     cudaMemcpyKind kind)
    {
        char* address = nullptr;
        const cudaError_t error = InVariable(&address, symbol, count, offset);
        return error ? error
                     : Result(CopyOn(nullptr, {to, count, address, count, count}, kind, true));
    }
}
