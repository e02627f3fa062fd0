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

// clang-format off
const char* const kGlmZoo = R"zoo(
[
 {"name": "glm-4.5-air", "sequence": 4096,
  "source": "zai-org/GLM-4.5-Air config.json (Hugging Face); 110,468,824,832 published with its module for multi-token prediction, which has embedding and head again; sequence of pre-training: arXiv 2508.06471",
  "config": {"model_type": "glm4_moe", "hidden_size": 4096, "intermediate_size": 10944,
  "num_hidden_layers": 46, "num_attention_heads": 96, "num_key_value_heads": 8, "head_dim": 128,
  "vocab_size": 151552, "tie_word_embeddings": false, "attention_bias": true, "first_k_dense_replace": 1,
  "moe_intermediate_size": 1408, "n_routed_experts": 128, "n_shared_experts": 1, "num_experts_per_tok": 8,
  "use_qk_norm": false, "num_nextn_predict_layers": 1}},
 {"name": "glm-4.5", "aliases": ["glm-4.6"], "sequence": 4096,
  "source": "zai-org/GLM-4.5 config.json (Hugging Face); 358,337,791,296 published with its module for multi-token prediction, which has embedding and head again; sequence of pre-training: arXiv 2508.06471",
  "config": {"model_type": "glm4_moe", "hidden_size": 5120, "intermediate_size": 12288,
  "num_hidden_layers": 92, "num_attention_heads": 96, "num_key_value_heads": 8, "head_dim": 128,
  "vocab_size": 151552, "tie_word_embeddings": false, "attention_bias": true, "first_k_dense_replace": 3,
  "moe_intermediate_size": 1536, "n_routed_experts": 160, "n_shared_experts": 1, "num_experts_per_tok": 8,
  "use_qk_norm": true, "num_nextn_predict_layers": 1}},
 {"name": "glm-5", "sequence": 4096, "parameters_published": 743911218432, "active_published": 41784728832,
  "source": "zai-org/GLM-5 config.json (Hugging Face); sequence: as GLM-4.5, assumed", "config": {
  "model_type": "glm_moe_dsa", "hidden_size": 6144, "intermediate_size": 12288, "num_hidden_layers": 78,
  "num_attention_heads": 64, "vocab_size": 154880, "tie_word_embeddings": false, "first_k_dense_replace": 3,
  "n_routed_experts": 256, "n_shared_experts": 1, "num_experts_per_tok": 8, "moe_intermediate_size": 2048,
  "kv_lora_rank": 512, "q_lora_rank": 2048, "qk_nope_head_dim": 192, "qk_rope_head_dim": 64,
  "v_head_dim": 256, "topk_method": "noaux_tc", "index_n_heads": 32, "index_head_dim": 128,
  "index_topk": 2048, "num_nextn_predict_layers": 1}}
]
)zoo";
// clang-format on

} // namespace

ModelFamily
GlmFamily()
{
    return {{{"glm4_moe", "Glm4Moe", "GLM", ReadGlm4},
             {"glm_moe_dsa", "GlmMoeDsa", "GLM", ReadSparseDeepSeek}},
            kGlmZoo};
}

} // namespace training
