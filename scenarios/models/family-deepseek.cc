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
    if (type == "deepseek_v3" || type == "deepseek_v32" || type == "kimi_k2" || type == "kimi_k25")
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

const RegisteredFamily g_deepSeek({"deepseek",
                                   {{"deepseek", "Deepseek", "DeepSeek", ReadDeepSeek},
                                    {"deepseek_v2", "DeepseekV2", "DeepSeek", ReadDeepSeek},
                                    {"deepseek_v3", "DeepseekV3", "DeepSeek", ReadDeepSeek},
                                    {"deepseek_v32", "DeepseekV32", "DeepSeek", ReadSparseDeepSeek},
                                    {"kimi_k2", "KimiK2", "Kimi", ReadDeepSeek},
                                    {"kimi_k25", "KimiK25", "Kimi", ReadDeepSeek}}});

} // namespace

} // namespace training
