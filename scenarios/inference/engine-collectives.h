/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Collectives that serving engines have kernels of their own for, inside a server: all-reduces of
 * few bytes, and the exchange of experts' tokens. In a CUDA graph they have no launch. Larger ones,
 * and those between servers, are the library's.
 */
#ifndef SCENARIOS_INFERENCE_ENGINE_COLLECTIVES_H
#define SCENARIOS_INFERENCE_ENGINE_COLLECTIVES_H

#include "scenarios/models/gpu-zoo.h"

#include <cstdint>
#include <optional>

namespace serving
{

/// How the GPUs of a server reach each other.
struct PeerLinks
{
    bool pcie = false; ///< through a host bridge; else over NVLink
    double perGpu = 0; ///< B/s of a GPU's port, each way
    bool peers = true; ///< GPUs read each other's memory
};

/// Bytes up to which an all-reduce is the engine's: to 16 MiB rows were measured.
constexpr double kEngineReduceBytes = 16.0 * (1 << 20);

/// Seconds of an all-reduce of `gpus` GPUs of a server; nothing: the library's, without a launch.
std::optional<double> EngineAllReduce(const training::GpuSpec& gpu,
                                      const PeerLinks& links,
                                      uint32_t gpus,
                                      double bytes);

/// Seconds of a dispatch, or a combine, of so many bytes that a GPU sends to all of its group, its
/// own among them. Nothing: the library's, without a launch.
std::optional<double> EngineExchange(const training::GpuSpec& gpu,
                                     const PeerLinks& links,
                                     double bytes);

/// GeForce cards' drivers have no access to the memory of other GPUs.
bool HasPeers(const training::GpuSpec& gpu);

} // namespace serving

#endif // SCENARIOS_INFERENCE_ENGINE_COLLECTIVES_H
