/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * MiniMax-M2, M2.1 and M2.5 (configuration_minimax_m2.py of MiniMaxAI/MiniMax-M2.1 on Hugging
 * Face): every block has experts and full attention; queries and keys are normed over all heads of
 * a token at once (qk_norm_type "per_layer"), which costs what norms of each head do.
 */
#include "scenarios/models/family.h"

namespace training
{

namespace
{

void
ReadMiniMaxM2(Config& c, Transformer& t, ModelSpec& model)
{
    ReadLlama(c, t, model);
    t.headSize = t.headSize > 0 ? t.headSize : 128;
    t.keyNorm = c.Flag("use_qk_norm", true) ? KeyNorm::kHead : KeyNorm::kNone;
    t.experts.count = c.Count("num_local_experts", kMostHeads, 256);
    t.experts.topK = c.Count("num_experts_per_tok", kMostHeads, 8);
    t.experts.ffn = t.ffn;
    t.experts.routerBias = c.Flag("use_routing_bias", true);
}

const RegisteredFamily g_miniMax({"minimax",
                                  {{"minimax_m2", "MiniMaxM2", "MiniMax", ReadMiniMaxM2}}});

} // namespace

} // namespace training
