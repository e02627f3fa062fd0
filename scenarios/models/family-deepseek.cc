/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * DeepSeek, and Kimi, which has its shapes. With "kv_lora_rank" attention is a latent one; with
 * "index_topk" it is sparse (DeepSeek-V3.2). A second token's prediction is no part of a model,
 * unless --mtp asks for it: published counts leave it out, too.
 */
#include "scenarios/models/family.h"

namespace training
{

void
ReadDeepSeek(Config& c, Transformer& t, ModelSpec& model)
{
    ReadLlama(c, t, model);
    // Files of these types have all of them; a default would be another model. The query's rank may
    // be null.
    const std::string type = c.Text("model_type", "");
    if (type == "deepseek_v3" || type == "deepseek_v32" || type == "kimi_k2")
    {
        for (const char* key : {"kv_lora_rank",
                                "q_lora_rank",
                                "n_routed_experts",
                                "n_shared_experts",
                                "first_k_dense_replace"})
        {
            if (!c.In().Has(key))
            {
                c.In().Missing(key, ", which a " + type + " has");
            }
        }
    }
    if (c.Given("kv_lora_rank"))
    {
        t.latent.kvRank = c.Count("kv_lora_rank", kMostHidden);
        t.latent.queryRank = c.Count("q_lora_rank", kMostHidden, 0);
        t.latent.plain = c.Count("qk_nope_head_dim", kMostHeads);
        t.latent.rotary = c.Count("qk_rope_head_dim", kMostHeads);
        t.latent.value = c.Count("v_head_dim", kMostHeads);
        t.kvHeads = t.heads;
        t.headSize = t.latent.plain + t.latent.rotary;
        if (t.qkvBias)
        {
            c.In().Fail("attention_bias", "is not known here; allowed: false");
        }
    }
    ReadRoutedExperts(c, t, 0);
    t.experts.routerBias = t.experts.count > 0 && (c.Text("model_type", "") == "deepseek_v3" ||
                                                   c.Text("topk_method", "") == "noaux_tc" ||
                                                   c.IsFor("DeepseekV3ForCausalLM"));
    ReadPredictor(c, t);
}

void
ReadSparseDeepSeek(Config& c, Transformer& t, ModelSpec& model)
{
    ReadDeepSeek(c, t, model);
    t.experts.routerBias = t.experts.count > 0;
    if (t.latent.queryRank == 0)
    {
        c.In().Missing("q_lora_rank", ", of which the indexer makes its queries");
    }
    IndexerShape& indexer = t.latent.indexer;
    indexer.heads = c.Count("index_n_heads", kMostHeads);
    indexer.size = c.Count("index_head_dim", kMostHeads);
    indexer.topK = c.Count("index_topk", kMostSequence);
}

namespace
{

// clang-format off
const char* const kDeepSeekZoo = R"zoo(
[
 {"name": "deepseek-v2-lite", "family": "DeepSeek", "layers": 27, "hidden": 2048, "heads": 16, "ffn": 10944,
  "vocab": 102400, "sequence": 4096, "tied_embeddings": false, "gated_mlp": true, "norm": "rms", "bias": false,
  "dropout": false, "experts": {"count": 64, "top_k": 6, "ffn": 1408, "shared_ffn": 2816, "dense_first": 1},
  "latent_attention": {"kv_rank": 512, "plain": 128, "rotary": 64, "value": 128},
  "parameters_published": 15706484224,
  "source": "deepseek-ai/DeepSeek-V2-Lite config.json (Hugging Face); sequence: arXiv 2405.04434, appendix B; count: its weights"},
 {"name": "deepseek-v2", "family": "DeepSeek", "layers": 60, "hidden": 5120, "heads": 128, "ffn": 12288,
  "vocab": 102400, "sequence": 4096, "tied_embeddings": false, "gated_mlp": true, "norm": "rms", "bias": false,
  "dropout": false, "experts": {"count": 160, "top_k": 6, "ffn": 1536, "shared_ffn": 3072, "dense_first": 1},
  "latent_attention": {"kv_rank": 512, "query_rank": 1536, "plain": 128, "rotary": 64, "value": 128},
  "parameters_published": 235741434880,
  "source": "deepseek-ai/DeepSeek-V2 config.json (Hugging Face); sequence: arXiv 2405.04434, section 3.1.2; count: its weights"},
 {"name": "deepseek-v3", "aliases": ["deepseek-r1"], "family": "DeepSeek", "layers": 61, "hidden": 7168,
  "heads": 128, "ffn": 18432, "vocab": 129280, "sequence": 4096, "tied_embeddings": false, "gated_mlp": true,
  "norm": "rms", "bias": false, "dropout": false,
  "experts": {"count": 256, "top_k": 8, "ffn": 2048, "shared_ffn": 2048, "dense_first": 3, "router_bias": true},
  "latent_attention": {"kv_rank": 512, "query_rank": 1536, "plain": 128, "rotary": 64, "value": 128},
  "mtp": true, "parameters_published": 671026419200,
  "source": "deepseek-ai/DeepSeek-V3 inference/configs/config_671B.json; sequence: arXiv 2412.19437, section 4.2; count: its weights, without the module that predicts a second token"},
 {"name": "deepseek-v3.2", "aliases": ["deepseek-v3.2-exp"], "sequence": 4096,
  "parameters_published": 671877944064, "active_published": 38403822336,
  "source": "deepseek-ai/DeepSeek-V3.2-Exp config.json (Hugging Face); sequence: as V3", "config": {
  "model_type": "deepseek_v32", "hidden_size": 7168, "intermediate_size": 18432, "num_hidden_layers": 61,
  "num_attention_heads": 128, "vocab_size": 129280, "tie_word_embeddings": false, "first_k_dense_replace": 3,
  "n_routed_experts": 256, "n_shared_experts": 1, "num_experts_per_tok": 8, "moe_intermediate_size": 2048,
  "kv_lora_rank": 512, "q_lora_rank": 1536, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
  "v_head_dim": 128, "topk_method": "noaux_tc", "index_n_heads": 64, "index_head_dim": 128,
  "index_topk": 2048, "num_nextn_predict_layers": 1}},
 {"name": "moonlight-16b-a3b", "aliases": ["moonlight", "moonlight-16b"], "family": "Kimi", "sequence": 8192,
  "source": "moonshotai/Moonlight-16B-A3B config.json (Hugging Face)", "config": {
  "model_type": "deepseek_v3", "hidden_size": 2048, "intermediate_size": 11264, "num_hidden_layers": 27,
  "num_attention_heads": 16, "vocab_size": 163840, "tie_word_embeddings": false, "first_k_dense_replace": 1,
  "n_routed_experts": 64, "n_shared_experts": 2, "num_experts_per_tok": 6, "moe_intermediate_size": 1408,
  "kv_lora_rank": 512, "q_lora_rank": null, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
  "v_head_dim": 128}},
 {"name": "kimi-k2", "aliases": ["kimi-k2-instruct", "kimi-k2-base"], "sequence": 4096,
  "parameters_published": 1026408232448, "active_published": 32861500928,
  "source": "moonshotai/Kimi-K2-Base config.json (Hugging Face); sequence: arXiv 2507.20534", "config": {
  "model_type": "kimi_k2", "hidden_size": 7168, "intermediate_size": 18432, "num_hidden_layers": 61,
  "num_attention_heads": 64, "vocab_size": 163840, "tie_word_embeddings": false, "first_k_dense_replace": 1,
  "n_routed_experts": 384, "n_shared_experts": 1, "num_experts_per_tok": 8, "moe_intermediate_size": 2048,
  "kv_lora_rank": 512, "q_lora_rank": 1536, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
  "v_head_dim": 128, "topk_method": "noaux_tc", "num_nextn_predict_layers": 0}}
]
)zoo";
// clang-format on

} // namespace

ModelFamily
DeepSeekFamily()
{
    return {{{"deepseek", "Deepseek", "DeepSeek", ReadDeepSeek},
             {"deepseek_v2", "DeepseekV2", "DeepSeek", ReadDeepSeek},
             {"deepseek_v3", "DeepseekV3", "DeepSeek", ReadDeepSeek},
             {"deepseek_v32", "DeepseekV32", "DeepSeek", ReadSparseDeepSeek},
             {"kimi_k2", "KimiK2", "Kimi", ReadDeepSeek}},
            kDeepSeekZoo};
}

} // namespace training
