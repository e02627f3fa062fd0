/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Which GPU sends which part of a request's KV to which, between engines with unlike cuts:
 *
 *     prefill tp=4, pp=1            decode tp=2, pp=2
 *     GPU t has all blocks,         GPU (s, t) has blocks of stage s,
 *     heads [t H/4, (t+1) H/4)      heads [t H/2, (t+1) H/2)
 *
 * A receiver takes each of its heads from a sender that has it. Where tp is above the number of KV
 * heads H, each head is on tp / H GPUs: receivers are shared out among those senders. A latent
 * (MLA) is one head.
 */
#ifndef SCENARIOS_INFERENCE_KV_ROUTES_H
#define SCENARIOS_INFERENCE_KV_ROUTES_H

#include <cstdint>
#include <vector>

namespace serving
{

/// The cut of one side.
struct KvSide
{
    uint32_t tp = 1;
    std::vector<uint32_t> firstBlock; ///< by stage, and all blocks' number at the end
};

struct KvRoute
{
    uint32_t fromStage = 0;
    uint32_t fromTensor = 0;
    uint32_t toStage = 0;
    uint32_t toTensor = 0;
    uint32_t firstBlock = 0; ///< of the model
    uint32_t blocks = 0;
    uint32_t heads = 0;
};

/// \param heads KV heads of the model, at least 1 \return in the order of receivers
std::vector<KvRoute> KvRoutes(const KvSide& from, const KvSide& to, uint32_t heads);

} // namespace serving

#endif // SCENARIOS_INFERENCE_KV_ROUTES_H
