/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * GLM-4.5 (Glm4MoeConfig of huggingface/transformers
 * src/transformers/models/glm4_moe/configuration_glm4_moe.py), and GLM-5, which is built as
 * DeepSeek-V3.2.
 */
#include "scenarios/models/family.h"

namespace training
{

namespace
{

void
ReadGlm4(Config& c, Transformer& t, ModelSpec& model)
{
    ReadLlama(c, t, model);
    t.outputBias = false; // whatever "attention_bias" says
    t.keyNorm = c.Flag("use_qk_norm", false) ? KeyNorm::kHead : KeyNorm::kNone;
    ReadRoutedExperts(c, t, 1);
    t.experts.routerBias = t.experts.count > 0;
    ReadPredictor(c, t);
}

const RegisteredFamily g_glm({"glm",
                              {{"glm4_moe", "Glm4Moe", "GLM", ReadGlm4},
                               {"glm_moe_dsa", "GlmMoeDsa", "GLM", ReadSparseDeepSeek}}});

} // namespace

} // namespace training
