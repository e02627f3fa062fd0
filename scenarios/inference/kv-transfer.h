/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * When KV travels from a prefill instance to a decode instance.
 */
#ifndef SCENARIOS_INFERENCE_KV_TRANSFER_H
#define SCENARIOS_INFERENCE_KV_TRANSFER_H

#include "topologies/registered.h"

#include <string>

namespace serving
{

struct KvTransferEntry
{
    static constexpr const char* kWhat = "KV transfers";

    std::string name;
    int rank;
    std::string description; ///< of --help
    /// KV of an iteration leaves with it, a layer's after its kernels (IterationOrder::byLayer);
    /// else all of a request after its prompt.
    bool byLayer;
};

using RegisteredKvTransfer = topo::Registered<KvTransferEntry>;

} // namespace serving

#endif // SCENARIOS_INFERENCE_KV_TRANSFER_H
