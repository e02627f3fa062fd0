/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Models from config.json files of Hugging Face: the members that published files have, against the
 * parameter counts published beside them, and against the zoo's own shapes.
 */
#include "scenarios/models/model-zoo.h"

#include <gtest/gtest.h>
#include <string>
#include <vector>

using namespace training;

namespace
{

struct Published
{
    const char* zoo; ///< the same model in the zoo; empty: none
    uint64_t parameters;
    const char* config;
};

// Members as in the files at huggingface.co/NAME/blob/main/config.json; those that change no shape
// are left out but for some that must not matter.
const Published kPublished[] = {
    {"llama2-7b", 6738415616, R"({"_name_or_path": "meta-llama/Llama-2-7b-hf",
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu",
        "hidden_size": 4096, "intermediate_size": 11008, "max_position_embeddings": 4096,
        "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 32,
        "rope_scaling": null, "tie_word_embeddings": false, "torch_dtype": "float16",
        "vocab_size": 32000})"},
    {"llama3-8b", 8030261248, R"({"architectures": ["LlamaForCausalLM"], "attention_bias": false,
        "hidden_size": 4096, "intermediate_size": 14336, "max_position_embeddings": 131072,
        "mlp_bias": false, "num_attention_heads": 32, "num_hidden_layers": 32,
        "num_key_value_heads": 8, "rope_scaling": {"factor": 8.0, "rope_type": "llama3",
        "original_max_position_embeddings": 8192}, "vocab_size": 128256})"},
    {"mistral-7b", 7241732096, R"({"architectures": ["MistralForCausalLM"],
        "model_type": "mistral", "hidden_size": 4096, "intermediate_size": 14336,
        "max_position_embeddings": 8192, "num_attention_heads": 32, "num_hidden_layers": 32,
        "num_key_value_heads": 8, "sliding_window": 4096, "vocab_size": 32000})"},
    {"mixtral-8x7b", 46702792704, R"({"architectures": ["MixtralForCausalLM"],
        "model_type": "mixtral", "hidden_size": 4096, "intermediate_size": 14336,
        "max_position_embeddings": 32768, "num_attention_heads": 32, "num_hidden_layers": 32,
        "num_key_value_heads": 8, "num_local_experts": 8, "num_experts_per_tok": 2,
        "tie_word_embeddings": false, "vocab_size": 32000})"},
    {"qwen2-7b", 7615616512, R"({"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2",
        "hidden_size": 3584, "intermediate_size": 18944, "max_position_embeddings": 4096,
        "num_attention_heads": 28, "num_hidden_layers": 28, "num_key_value_heads": 4,
        "tie_word_embeddings": false, "vocab_size": 152064})"},
    {"deepseek-v2-lite", 15706484224, R"({"architectures": ["DeepseekV2ForCausalLM"],
        "model_type": "deepseek_v2", "attention_bias": false, "first_k_dense_replace": 1,
        "hidden_size": 2048, "intermediate_size": 10944, "kv_lora_rank": 512,
        "max_position_embeddings": 163840, "moe_intermediate_size": 1408, "moe_layer_freq": 1,
        "n_routed_experts": 64, "n_shared_experts": 2, "num_attention_heads": 16,
        "num_experts_per_tok": 6, "num_hidden_layers": 27, "num_key_value_heads": 16,
        "q_lora_rank": null, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
        "rope_scaling": {"factor": 40, "original_max_position_embeddings": 4096, "type": "yarn"},
        "topk_method": "greedy", "vocab_size": 102400})"},
    {"deepseek-v3", 671026419200, R"({"architectures": ["DeepseekV3ForCausalLM"],
        "model_type": "deepseek_v3", "first_k_dense_replace": 3, "hidden_size": 7168,
        "intermediate_size": 18432, "kv_lora_rank": 512, "max_position_embeddings": 163840,
        "moe_intermediate_size": 2048, "moe_layer_freq": 1, "n_routed_experts": 256,
        "n_shared_experts": 1, "num_attention_heads": 128, "num_experts_per_tok": 8,
        "num_hidden_layers": 61, "num_key_value_heads": 128, "num_nextn_predict_layers": 1,
        "q_lora_rank": 1536, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
        "rope_scaling": {"factor": 40, "original_max_position_embeddings": 4096, "type": "yarn"},
        "topk_method": "noaux_tc", "vocab_size": 129280})"},
    {"gpt2-xl", 1557611200, R"({"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2",
        "n_ctx": 1024, "n_embd": 1600, "n_head": 25, "n_layer": 48, "n_positions": 1024,
        "resid_pdrop": 0.1, "vocab_size": 50257})"},
    // 20,554,567,680: EleutherAI/gpt-neox, the table of its model card.
    {"", 20554567680, R"({"architectures": ["GPTNeoXForCausalLM"], "model_type": "gpt_neox",
        "hidden_size": 6144, "intermediate_size": 24576, "max_position_embeddings": 2048,
        "num_attention_heads": 64, "num_hidden_layers": 44, "tie_word_embeddings": false,
        "use_parallel_residual": true, "vocab_size": 50432})"},
    {"bloom-560m", 559214592, R"({"architectures": ["BloomForCausalLM"], "model_type": "bloom",
        "hidden_dropout": 0.1, "n_embed": 1024, "n_layer": 24, "num_attention_heads": 16,
        "seq_length": 2048, "vocab_size": 250880})"},
    // OPT-125M: 50,272 x 768 + 2,050 x 768 + 12 (12 x 768^2 + 13 x 768) + 2 x 768.
    {"", 125239296, R"({"architectures": ["OPTForCausalLM"], "model_type": "opt",
        "do_layer_norm_before": true, "dropout": 0.1, "ffn_dim": 3072, "hidden_size": 768,
        "max_position_embeddings": 2048, "num_attention_heads": 12, "num_hidden_layers": 12,
        "vocab_size": 50272, "word_embed_proj_dim": 768})"},
    {"bert-base", 109482240, R"({"architectures": ["BertModel"], "model_type": "bert",
        "hidden_dropout_prob": 0.1, "hidden_size": 768, "intermediate_size": 3072,
        "max_position_embeddings": 512, "num_attention_heads": 12, "num_hidden_layers": 12,
        "type_vocab_size": 2, "vocab_size": 30522})"},
    {"bert-large-pretraining", 336226108, R"({"architectures": ["BertForPreTraining"],
        "model_type": "bert", "hidden_size": 1024, "intermediate_size": 4096,
        "max_position_embeddings": 512, "num_attention_heads": 16, "num_hidden_layers": 24,
        "type_vocab_size": 2, "vocab_size": 30522})"},
    {"t5-3b", 2851598336, R"({"architectures": ["T5ForConditionalGeneration"],
        "model_type": "t5", "d_ff": 16384, "d_kv": 128, "d_model": 1024, "dropout_rate": 0.1,
        "n_positions": 512, "num_heads": 32, "num_layers": 24, "num_decoder_layers": null,
        "relative_attention_num_buckets": 32, "vocab_size": 32128})"},
    {"t5-v1.1-base", 247577856, R"({"architectures": ["T5ForConditionalGeneration"],
        "model_type": "t5", "d_ff": 2048, "d_kv": 64, "d_model": 768, "dropout_rate": 0.1,
        "feed_forward_proj": "gated-gelu", "num_decoder_layers": 12, "num_heads": 12,
        "num_layers": 12, "relative_attention_num_buckets": 32, "tie_word_embeddings": false,
        "vocab_size": 32128})"},
    // google/vit-base-patch16-224: as torchvision's.
    {"vit-b-16", 86567656, R"({"architectures": ["ViTForImageClassification"],
        "model_type": "vit", "hidden_dropout_prob": 0.0, "hidden_size": 768, "image_size": 224,
        "intermediate_size": 3072, "num_attention_heads": 12, "num_channels": 3,
        "num_hidden_layers": 12, "patch_size": 16, "qkv_bias": true, "num_labels": 1000})"},
};

std::optional<ModelSpec>
Parsed(const nlohmann::json& config, std::vector<topo::Error>* errors)
{
    return ParseModelJson(config, "config.json", *errors);
}

/// The first error of a config. \param changes what is merged into Llama 2's
topo::Error
ErrorWith(const std::string& changes)
{
    auto config = nlohmann::json::parse(kPublished[0].config);
    const auto changed = nlohmann::json::parse(changes);
    for (const auto& [key, value] : changed.items())
    {
        config[key] = value;
    }
    std::vector<topo::Error> errors;
    EXPECT_FALSE(Parsed(config, &errors)) << changes;
    EXPECT_FALSE(errors.empty()) << changes;
    return errors.empty() ? topo::Error{} : errors.front();
}

} // namespace

TEST(HuggingFace, CountsArePublishedOnes)
{
    for (const Published& p : kPublished)
    {
        std::vector<topo::Error> errors;
        const auto model = Parsed(nlohmann::json::parse(p.config), &errors);
        ASSERT_TRUE(model) << p.zoo << errors.front().Sentence();
        EXPECT_EQ(model->parameters, p.parameters) << p.zoo << p.config;
    }
}

// The same layers as the zoo's: work, what is kept, what is sent. T5's file says nothing of its
// target, so its parameters are compared only.
TEST(HuggingFace, AreTheZoosModels)
{
    for (const Published& p : kPublished)
    {
        const auto zoo = FindModel(p.zoo);
        std::vector<topo::Error> errors;
        const auto model = Parsed(nlohmann::json::parse(p.config), &errors);
        if (!zoo)
        {
            EXPECT_STREQ(p.zoo, "");
            continue;
        }
        ASSERT_TRUE(model);
        EXPECT_EQ(model->sequence, zoo->sequence) << p.zoo;
        EXPECT_EQ(model->hasSequence, zoo->hasSequence) << p.zoo;
        ASSERT_EQ(model->layers.size(), zoo->layers.size()) << p.zoo;
        const bool sameTarget = std::string(p.zoo).substr(0, 2) != "t5";
        for (size_t i = 0; i < model->layers.size(); ++i)
        {
            const LayerSpec& mine = model->layers[i];
            const LayerSpec& theirs = zoo->layers[i];
            EXPECT_EQ(mine.name, theirs.name) << p.zoo;
            EXPECT_EQ(mine.Parameters(), theirs.Parameters()) << p.zoo << mine.name;
            EXPECT_EQ(mine.tiedTo, theirs.tiedTo) << p.zoo << mine.name;
            if (sameTarget)
            {
                EXPECT_DOUBLE_EQ(mine.Flops().At(3, 100), theirs.Flops().At(3, 100)) << p.zoo;
                EXPECT_DOUBLE_EQ(mine.ActivationBytes().At(3, 100),
                                 theirs.ActivationBytes().At(3, 100))
                    << p.zoo << mine.name;
                EXPECT_DOUBLE_EQ(mine.output.At(3, 100), theirs.output.At(3, 100)) << p.zoo;
            }
        }
    }
}

TEST(HuggingFace, NamesAndSequences)
{
    std::vector<topo::Error> errors;
    const auto model = Parsed(nlohmann::json::parse(kPublished[0].config), &errors);
    ASSERT_TRUE(model);
    EXPECT_EQ(model->name, "meta-llama/Llama-2-7b-hf");
    EXPECT_EQ(model->family, "Llama");
    // Without a name it is what it is; without "model_type" what its class says.
    const auto other = Parsed(nlohmann::json::parse(kPublished[1].config), &errors);
    ASSERT_TRUE(other);
    EXPECT_EQ(other->name, "llama");
    EXPECT_EQ(other->sequence, 8192u) << "of before positions were scaled";
}

// Flan-T5's first files said gelu and gated (huggingface.co/google/flan-t5-xxl/discussions/11).
TEST(HuggingFace, T5IsGatedAsTransformersHasIt)
{
    const auto t5 = std::find_if(std::begin(kPublished), std::end(kPublished), [](const auto& p) {
        return std::string(p.zoo) == "t5-v1.1-base";
    });
    ASSERT_NE(t5, std::end(kPublished));
    auto config = nlohmann::json::parse(t5->config);
    const auto parameters = [&config](const char* form) {
        config["feed_forward_proj"] = form;
        std::vector<topo::Error> errors;
        const auto model = Parsed(config, &errors);
        return model ? model->parameters : errors.size();
    };
    // A third matrix in each of 24 MLPs.
    EXPECT_EQ(parameters("gated-gelu") - parameters("gelu"), 24u * 768 * 2048);
    EXPECT_EQ(parameters("gated-x"), t5->parameters);
    for (const char* wrong : {"", "gated-", "x-gelu", "gated-gelu-new"})
    {
        EXPECT_EQ(parameters(wrong), 1u) << wrong;
    }
    config["is_gated_act"] = true;
    EXPECT_EQ(parameters("gelu"), t5->parameters);
}

TEST(HuggingFace, EveryMistakeIsNamed)
{
    EXPECT_EQ(ErrorWith(R"({"model_type": "lama"})").Sentence(),
              "config.json: /model_type: \"lama\" is none that is known here; allowed: bloom, "
              "gpt2, gpt_neox, opt, llama, llama4, llama4_text, mistral, mistral3, mixtral, "
              "deepseek, deepseek_v2, deepseek_v3, deepseek_v32, kimi_k2, kimi_k25, glm4_moe, "
              "glm_moe_dsa, minimax_m2, qwen2, qwen3, qwen3_moe, qwen3_next, qwen3_5_moe, gpt_oss, "
              "gemma3, gemma3_text, phi, phi3, phimoe, nemotron_h, bert, t5 or vit (did you mean "
              "llama?)");
    EXPECT_EQ(ErrorWith(R"({"model_type": null, "architectures": ["LlamaForSpeech"]})").where,
              "/architectures");
    EXPECT_EQ(ErrorWith(R"({"model_type": null, "architectures": "LlamaForCausalLM"})").where,
              "/architectures");
    EXPECT_EQ(ErrorWith(R"({"model_type": 3})").where, "/model_type");
    EXPECT_EQ(ErrorWith(R"({"hidden_size": null})").where, "/hidden_size");
    EXPECT_EQ(ErrorWith(R"({"hidden_size": "4096"})").where, "/hidden_size");
    EXPECT_EQ(ErrorWith(R"({"num_hidden_layers": 0})").where, "/num_hidden_layers");
    EXPECT_EQ(ErrorWith(R"({"num_attention_heads": 33})").where, "/num_attention_heads");
    EXPECT_EQ(ErrorWith(R"({"num_key_value_heads": 5})").where, "/num_key_value_heads");
    EXPECT_EQ(ErrorWith(R"({"num_key_value_heads": 0})").where, "/num_key_value_heads");
    EXPECT_EQ(ErrorWith(R"({"tie_word_embeddings": 1})").where, "/tie_word_embeddings");
    EXPECT_EQ(ErrorWith(R"({"mlp_bias": true})").where, "/mlp_bias");
    EXPECT_EQ(ErrorWith(R"({"attention_dropout": 2})").where, "/attention_dropout");
    EXPECT_EQ(ErrorWith(R"({"model_type": "mixtral"})").where, "/num_local_experts");
    EXPECT_EQ(ErrorWith(R"({"model_type": "mixtral", "num_local_experts": 4,
                            "num_experts_per_tok": 5})")
                  .where,
              "/num_experts_per_tok");
    EXPECT_EQ(
        ErrorWith(R"({"model_type": "opt", "ffn_dim": 100, "word_embed_proj_dim": 512})").where,
        "/word_embed_proj_dim");
    EXPECT_EQ(ErrorWith(R"({"model_type": "bert"})").where, "/architectures");
    EXPECT_EQ(ErrorWith(R"({"model_type": "deepseek_v2", "n_routed_experts": 8,
                            "num_experts_per_tok": 2, "moe_intermediate_size": 8,
                            "moe_layer_freq": 2})")
                  .where,
              "/moe_layer_freq");
    // A default would be another model.
    EXPECT_EQ(ErrorWith(R"({"model_type": "deepseek_v3", "n_routed_experts": 8,
                            "num_experts_per_tok": 2, "moe_intermediate_size": 8,
                            "q_lora_rank": null, "n_shared_experts": 1,
                            "first_k_dense_replace": 1})")
                  .where,
              "/kv_lora_rank");
    EXPECT_EQ(ErrorWith(R"({"model_type": "deepseek_v2", "n_routed_experts": 8,
                            "num_experts_per_tok": 2, "moe_intermediate_size": 8,
                            "first_k_dense_replace": 10000})")
                  .where,
              "/first_k_dense_replace");
    EXPECT_EQ(ErrorWith(R"({"model_type": "mistral3",
                            "text_config": {"model_type": "deepseek_v3"}})")
                  .where,
              "/text_config/model_type");
}

// Whatever stands in a member, there is a model or there are errors.
// Where it is not clear which form a file has, its other members are no mistakes.
TEST(HuggingFace, OneErrorWhereTheFormIsNotKnown)
{
    const std::pair<const char*, const char*> wrong[] = {
        {R"({"model_type": 0, "hidden_size": 8})", "/model_type: 0 is not a text"},
        {R"({"hidden_size": 8, "num_hidden_layers": 2})", "/model_type: is missing"},
        {R"({"n_embd": 8, "n_layer": 2})", "/model_type: is missing"},
        {R"({"architectures": ["Nobodys"], "d_model": 8})", "/architectures: "},
        {R"({"name": "x", "layers": 24, "hiden": 1024, "heads": 4})", "/hidden: is missing"},
        {R"({"name": "x"})", "/layers: is missing"},
        {"null", "/: null is not an object"},
        {"[1]", "/: a list is not an object"},
    };
    for (const auto& [config, message] : wrong)
    {
        std::vector<topo::Error> errors;
        EXPECT_FALSE(Parsed(nlohmann::json::parse(config), &errors)) << config;
        ASSERT_EQ(errors.size(), 1) << config;
        EXPECT_NE(errors[0].Sentence().find(message), std::string::npos) << errors[0].Sentence();
    }
}

TEST(HuggingFace, AnyValueIsAModelOrAnError)
{
    const std::vector<nlohmann::json> values = {nullptr,
                                                true,
                                                0,
                                                -1,
                                                1,
                                                7,
                                                1e30,
                                                0.5,
                                                18446744073709551615ULL,
                                                "",
                                                "x",
                                                nlohmann::json::array(),
                                                nlohmann::json::array({nullptr}),
                                                nlohmann::json::object()};
    for (const Published& p : kPublished)
    {
        const auto good = nlohmann::json::parse(p.config);
        for (const auto& [key, old] : good.items())
        {
            for (const auto& value : values)
            {
                auto config = good;
                config[key] = value;
                // Few layers, so that it is quick.
                for (const char* layers : {"num_hidden_layers", "num_layers", "n_layer"})
                {
                    if (config.contains(layers) && key != layers)
                    {
                        config[layers] = 2;
                    }
                }
                std::vector<topo::Error> errors;
                const auto model = Parsed(config, &errors);
                EXPECT_EQ(model.has_value(), errors.empty()) << p.zoo << " " << key << " " << value;
                EXPECT_TRUE(!model || model->parameters > 0);
            }
        }
    }
}

namespace
{

/// A small model of each type since 2024, with the members that its reader looks at.
const char* const kSmall[] = {
    R"({"model_type": "mistral", "hidden_size": 8, "intermediate_size": 16, "num_hidden_layers": 2,
        "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 4, "vocab_size": 10,
        "sliding_window": 4})",
    R"({"model_type": "llama4_text", "hidden_size": 8, "intermediate_size": 16,
        "intermediate_size_mlp": 20, "num_hidden_layers": 4, "num_attention_heads": 2,
        "vocab_size": 10, "num_local_experts": 4, "num_experts_per_tok": 1, "moe_layers": [1, 3],
        "no_rope_layers": [1, 1, 1, 0], "attention_chunk_size": 8, "use_qk_norm": true,
        "interleave_moe_layer_step": 2, "no_rope_layer_interval": 4})",
    R"({"model_type": "deepseek_v32", "hidden_size": 8, "intermediate_size": 16,
        "num_hidden_layers": 2, "num_attention_heads": 2, "vocab_size": 10, "kv_lora_rank": 4,
        "q_lora_rank": 6, "qk_nope_head_dim": 4, "qk_rope_head_dim": 2, "v_head_dim": 4,
        "n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 8,
        "n_shared_experts": 1, "first_k_dense_replace": 1, "topk_method": "noaux_tc",
        "index_n_heads": 2, "index_head_dim": 4, "index_topk": 8, "num_nextn_predict_layers": 1})",
    R"({"model_type": "glm4_moe", "hidden_size": 8, "intermediate_size": 16,
        "num_hidden_layers": 2, "num_attention_heads": 2, "vocab_size": 10, "head_dim": 4,
        "attention_bias": true, "use_qk_norm": true, "n_routed_experts": 4,
        "num_experts_per_tok": 2, "moe_intermediate_size": 8, "n_shared_experts": 1})",
    R"({"model_type": "qwen3", "hidden_size": 8, "intermediate_size": 16, "num_hidden_layers": 2,
        "num_attention_heads": 2, "vocab_size": 10, "head_dim": 4, "use_sliding_window": true,
        "sliding_window": 4, "max_window_layers": 1})",
    R"({"model_type": "qwen3_moe", "hidden_size": 8, "intermediate_size": 16,
        "num_hidden_layers": 2, "num_attention_heads": 2, "vocab_size": 10, "num_experts": 4,
        "num_experts_per_tok": 2, "moe_intermediate_size": 8, "decoder_sparse_step": 2,
        "mlp_only_layers": [1]})",
    R"({"model_type": "qwen3_next", "hidden_size": 8, "intermediate_size": 16,
        "num_hidden_layers": 2, "num_attention_heads": 2, "vocab_size": 10, "num_experts": 4,
        "num_experts_per_tok": 2, "moe_intermediate_size": 8, "full_attention_interval": 2,
        "shared_expert_intermediate_size": 8, "linear_num_key_heads": 2,
        "linear_num_value_heads": 4, "linear_key_head_dim": 4, "linear_value_head_dim": 4,
        "linear_conv_kernel_dim": 4})",
    R"({"model_type": "gpt_oss", "hidden_size": 8, "intermediate_size": 16,
        "num_hidden_layers": 2, "num_attention_heads": 2, "vocab_size": 10, "head_dim": 4,
        "num_local_experts": 4, "experts_per_token": 2, "sliding_window": 4,
        "layer_types": ["sliding_attention", "full_attention"], "initial_context_length": 16})",
    R"({"model_type": "gemma3", "text_config": {"hidden_size": 8, "intermediate_size": 16,
        "num_hidden_layers": 2}})",
    R"({"model_type": "gemma3_text", "hidden_size": 8, "intermediate_size": 16,
        "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1,
        "vocab_size": 10, "head_dim": 4, "sliding_window": 4, "sliding_window_pattern": 2})",
    R"({"model_type": "phi", "hidden_size": 8, "intermediate_size": 16, "num_hidden_layers": 2,
        "num_attention_heads": 2, "vocab_size": 10, "resid_pdrop": 0.1, "qk_layernorm": false})",
    R"({"model_type": "phi3", "hidden_size": 8, "intermediate_size": 16, "num_hidden_layers": 2,
        "num_attention_heads": 2, "vocab_size": 10, "original_max_position_embeddings": 16})",
    R"({"model_type": "phimoe", "hidden_size": 8, "intermediate_size": 16, "num_hidden_layers": 2,
        "num_attention_heads": 2, "vocab_size": 10, "num_local_experts": 4,
        "num_experts_per_tok": 2, "lm_head_bias": true, "attention_bias": true})",
    R"({"model_type": "nemotron_h", "hidden_size": 8, "intermediate_size": 16,
        "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 4, "vocab_size": 10,
        "hybrid_override_pattern": "M*-E", "num_hidden_layers": 4, "mamba_num_heads": 4,
        "mamba_head_dim": 4, "ssm_state_size": 4, "n_groups": 2, "conv_kernel": 4,
        "chunk_size": 8, "n_routed_experts": 4, "num_experts_per_tok": 2,
        "moe_intermediate_size": 8, "moe_shared_expert_intermediate_size": 8,
        "moe_latent_size": 4})",
};

} // namespace

// Shapes by hand that the published counts (tests/system/dltrain/dltrain-models.py) do not have.
TEST(HuggingFace, SmallModelsByHand)
{
    const auto parameters = [](std::size_t i) {
        std::vector<topo::Error> errors;
        const auto model = Parsed(nlohmann::json::parse(kSmall[i]), &errors);
        return model ? model->parameters : 0;
    };
    // Llama 4: two tables and a norm; attention 8 x 8 x 4; two norms; MLPs 3 x 8 x 20 in blocks 0
    // and 2; else a router of 32, four experts and a shared one of 3 x 8 x 16.
    EXPECT_EQ(parameters(1), 168u + 4 * (256 + 16) + 2 * (3 * 8 * 20) + 2 * (32 + 5 * 3 * 8 * 16));
    // Qwen3-MoE: block 1 would have experts, were it not listed; q, k: norms of 4 in each.
    EXPECT_EQ(parameters(5), 168u + 2 * (256 + 2 * 4 + 16 + 3 * 8 * 16));
    // Phi: one norm a block, biases, the head's, too.
    EXPECT_EQ(parameters(10), 160u + 10 + 16 + 2 * (16 + 4 * (64 + 8) + 2 * 8 * 16 + 16 + 8));
    // Nemotron-H: Mamba 8 x (2 x 16 + 2 x 8 + 4), a convolution of (16 + 16) x 5, 3 x 4, a norm
    // of 16, 16 x 8; attention 8 x (8 + 8) + 64; MLP 2 x 8 x 16; experts: router 32 + 4, 8 x 4
    // twice, four of 2 x 4 x 8, a shared one of 2 x 8 x 8; a norm each, and the last one.
    EXPECT_EQ(parameters(13),
              160u + 5 * 8 + (8 * 52 + 32 * 5 + 12 + 16 + 128) + (128 + 64) + 256 +
                  (36 + 64 + 4 * 64 + 128));
}

TEST(HuggingFace, AnyValueInLaterTypesIsAModelOrAnError)
{
    const std::vector<nlohmann::json> values = {nullptr,
                                                true,
                                                0,
                                                -1,
                                                1,
                                                3,
                                                1e30,
                                                0.5,
                                                18446744073709551615ULL,
                                                "",
                                                "M*x",
                                                "MMMM",
                                                nlohmann::json::array(),
                                                nlohmann::json::array({nullptr}),
                                                nlohmann::json::array({1, 2}),
                                                nlohmann::json::array({"full_attention", "?"}),
                                                nlohmann::json::object()};
    for (const char* text : kSmall)
    {
        const auto good = nlohmann::json::parse(text);
        std::vector<topo::Error> none;
        ASSERT_TRUE(Parsed(good, &none)) << text << none.front().Sentence();
        for (const auto& [key, old] : good.items())
        {
            for (const auto& value : values)
            {
                auto config = good;
                config[key] = value;
                std::vector<topo::Error> errors;
                const auto model = Parsed(config, &errors);
                EXPECT_EQ(model.has_value(), errors.empty()) << text << key << " " << value;
                EXPECT_TRUE(!model || (model->parameters > 0 &&
                                       model->ActiveParameters() <= model->parameters))
                    << text << key << " " << value;
            }
        }
    }
}

TEST(HuggingFace, MoreParametersThanNumbersHoldAreOneError)
{
    // Three products of 2^20 x 2^24 in each of 65,536 experts, in 10,000 layers: 3.5e22.
    const auto config = nlohmann::json::parse(R"({"model_type": "mixtral", "hidden_size": 1048576,
        "intermediate_size": 16777216, "num_attention_heads": 16, "num_hidden_layers": 10000,
        "num_local_experts": 65536, "num_experts_per_tok": 2, "vocab_size": 32000})");
    std::vector<topo::Error> errors;
    EXPECT_FALSE(Parsed(config, &errors));
    ASSERT_EQ(errors.size(), 1u);
    EXPECT_EQ(errors[0].problem, "a model of 3.46e+22 parameters; allowed: at most 1e+15");
    auto small = config;
    small["num_hidden_layers"] = 1;
    small["num_local_experts"] = 8;
    errors.clear();
    const auto model = Parsed(small, &errors);
    ASSERT_TRUE(model);
    EXPECT_GT(model->parameters, 8ULL * 3 << 44) << "422 T";
}

TEST(HuggingFace, SharedExpertsWiderThanNumbersHoldAreOneError)
{
    // 256 x 2^24 are 2^32: a width of 0 in 32 bits.
    const auto config = nlohmann::json::parse(R"({"model_type": "glm4_moe", "hidden_size": 1024,
        "intermediate_size": 4096, "num_attention_heads": 16, "num_hidden_layers": 2,
        "n_routed_experts": 8, "num_experts_per_tok": 2, "n_shared_experts": 256,
        "moe_intermediate_size": 16777216, "vocab_size": 32000, "max_position_embeddings": 4096})");
    std::vector<topo::Error> errors;
    EXPECT_FALSE(Parsed(config, &errors));
    ASSERT_EQ(errors.size(), 1u);
    EXPECT_EQ(errors[0].where, "/n_shared_experts");
    EXPECT_NE(errors[0].problem.find("allowed: at most 16777216"), std::string::npos);
}

TEST(HuggingFace, ControlCharactersInTheTypeAreOneError)
{
    for (const char* type : {R"("lla\u0001ma")", "7"})
    {
        std::vector<topo::Error> errors;
        EXPECT_FALSE(
            Parsed(nlohmann::json::parse(std::string(R"({"model_type": )") + type + "}"), &errors));
        ASSERT_EQ(errors.size(), 1u) << type;
        EXPECT_EQ(errors[0].where, "/model_type");
    }
}
