/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A model from the config.json that Hugging Face keeps beside its weights, recognised by
 * "model_type", or without it by "architectures". Members that change no shape are not read; those
 * that change it in a way that is not known here are refused. What a missing member means is what
 * the library's configuration classes have as default (huggingface/transformers
 * src/transformers/models/NAME/configuration_NAME.py), for which tests/unit/scenarios/
 * hugging-face-test.cc holds published parameter counts against these.
 *
 * Not in such a file, so assumed: the usual sequence is the longest that positions were trained for
 * (rope_scaling's original one, where it is scaled); T5's target is as long as its source. Left
 * out: DeepSeek-V3's module that predicts a second token, which its published count leaves out,
 * too.
 */
#include "scenarios/models/model-forms.h"
#include "scenarios/models/transformer-shape.h"
#include "topologies/names.h"

#include <algorithm>
#include <iterator>

namespace training
{

namespace
{

/// A config's members: null is as good as missing.
class Config
{
  public:
    explicit Config(topo::JsonObject& in)
        : m_in(in)
    {
    }

    bool Given(const char* key)
    {
        return m_in.Has(key) && !m_in.At(key).is_null();
    }

    /// A count that has to be there.
    uint32_t Count(const char* key, uint64_t most)
    {
        uint32_t value = 0;
        m_in.Whole(key, value, 1, most, topo::Need::kRequired);
        return value;
    }

    /// One that may be missing, and is at least `least` otherwise.
    uint32_t Count(const char* key, uint64_t most, uint32_t missing, uint64_t least = 1)
    {
        uint32_t value = missing;
        if (Given(key))
        {
            m_in.Whole(key, value, least, most);
        }
        return value;
    }

    bool Flag(const char* key, bool missing)
    {
        bool value = missing;
        if (Given(key))
        {
            m_in.Flag(key, value);
        }
        return value;
    }

    /// Whether a share is above 0: dropout.
    bool Positive(const char* key, double missing)
    {
        double value = missing;
        if (Given(key))
        {
            m_in.Real(key, value, 0, 1);
        }
        return value > 0;
    }

    std::string Text(const char* key, const std::string& missing)
    {
        std::string value = missing;
        if (Given(key))
        {
            m_in.Text(key, value);
        }
        return value;
    }

    /// The first of two spellings that is there.
    const char* Either(const char* one, const char* other)
    {
        return Given(one) || !Given(other) ? one : other;
    }

    /// Whether the class that the file is for ends so ("ForMaskedLM").
    bool IsFor(const std::string& ending)
    {
        if (!Given("architectures") || !m_in.At("architectures").is_array() ||
            m_in.At("architectures").empty() || !m_in.At("architectures")[0].is_string())
        {
            return false;
        }
        const std::string name = m_in.At("architectures")[0].get<std::string>();
        return name.size() >= ending.size() &&
               name.compare(name.size() - ending.size(), ending.size(), ending) == 0;
    }

    topo::JsonObject& In()
    {
        return m_in;
    }

  private:
    topo::JsonObject& m_in;
};

constexpr uint64_t kMostLayers = 10000;
constexpr uint64_t kMostHidden = 1 << 20;
constexpr uint64_t kMostHeads = 1 << 16;
constexpr uint64_t kMostFfn = 1 << 24;
constexpr uint64_t kMostWords = 1 << 26;
constexpr uint64_t kMostSequence = 1 << 24;

/// The words of most configs.
void
ReadUsual(Config& c, Transformer& t)
{
    t.hidden = c.Count("hidden_size", kMostHidden);
    t.layers = c.Count("num_hidden_layers", kMostLayers);
    t.heads = c.Count("num_attention_heads", kMostHeads);
    t.kvHeads = t.heads;
}

/// The longest sequence that positions were trained for.
uint32_t
TrainedSequence(Config& c, uint32_t missing)
{
    for (const char* key : {"rope_scaling", "rope_parameters"})
    {
        if (c.Given(key) && c.In().At(key).is_object())
        {
            topo::JsonObject inner = c.In().Inner(c.In().At(key), key);
            Config scaling(inner);
            if (scaling.Given("original_max_position_embeddings"))
            {
                return scaling.Count("original_max_position_embeddings", kMostSequence);
            }
        }
    }
    return c.Given("max_position_embeddings") ? c.Count("max_position_embeddings", kMostSequence)
                                              : missing;
}

/// The common keys of Llama and later models.
void
ReadLlama(Config& c, Transformer& t, ModelSpec& model)
{
    ReadUsual(c, t);
    t.kvHeads = c.Count("num_key_value_heads", kMostHeads, t.heads);
    t.headSize = c.Count("head_dim", kMostHeads, 0);
    t.ffn = c.Count("intermediate_size", kMostFfn);
    t.vocabulary = c.Count("vocab_size", kMostWords);
    t.tied = c.Flag("tie_word_embeddings", false);
    t.gated = true;
    t.rms = true;
    t.bias = false;
    t.dropout = c.Positive("attention_dropout", 0);
    t.qkvBias = t.outputBias = c.Flag("attention_bias", false);
    if (c.Flag("mlp_bias", false))
    {
        c.In().Fail("mlp_bias", "is not known here; allowed: false");
    }
    model.sequence = TrainedSequence(c, 2048);
}

void
ReadQwen2(Config& c, Transformer& t, ModelSpec& model)
{
    ReadLlama(c, t, model);
    t.qkvBias = true; // always
    t.outputBias = false;
}

void
ReadMixtral(Config& c, Transformer& t, ModelSpec& model)
{
    ReadLlama(c, t, model);
    t.experts.count = c.Count("num_local_experts", kMostHeads);
    t.experts.topK = c.Count("num_experts_per_tok", kMostHeads);
    t.experts.ffn = t.ffn;
}

/// DeepSeek, -V2 and -V3: with "kv_lora_rank" attention is a latent one.
void
ReadDeepSeek(Config& c, Transformer& t, ModelSpec& model)
{
    ReadLlama(c, t, model);
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
    if (!c.Given("n_routed_experts"))
    {
        return;
    }
    ExpertsShape& e = t.experts;
    e.count = c.Count("n_routed_experts", kMostHeads);
    e.topK = c.Count("num_experts_per_tok", kMostHeads);
    e.ffn = c.Count("moe_intermediate_size", kMostFfn);
    e.sharedFfn = c.Count("n_shared_experts", kMostHeads, 0, 0) * e.ffn;
    e.denseFirst = c.Count("first_k_dense_replace", kMostLayers, 0, 0);
    e.routerBias = c.Text("model_type", "") == "deepseek_v3" ||
                   c.Text("topk_method", "") == "noaux_tc" || c.IsFor("DeepseekV3ForCausalLM");
    if (c.Count("moe_layer_freq", kMostLayers, 1) != 1)
    {
        c.In().Fail("moe_layer_freq", "is not known here; allowed: 1");
    }
}

void
ReadGpt2(Config& c, Transformer& t, ModelSpec& model)
{
    t.hidden = c.Count("n_embd", kMostHidden);
    t.layers = c.Count("n_layer", kMostLayers);
    t.heads = c.Count("n_head", kMostHeads);
    t.kvHeads = t.heads;
    t.ffn = c.Count("n_inner", kMostFfn, 4 * t.hidden);
    t.vocabulary = c.Count("vocab_size", kMostWords);
    t.positions = c.Count("n_positions", kMostSequence);
    t.tied = c.Flag("tie_word_embeddings", true);
    t.dropout = c.Positive("resid_pdrop", 0.1);
    model.sequence = t.positions;
}

void
ReadGptNeoX(Config& c, Transformer& t, ModelSpec& model)
{
    ReadUsual(c, t);
    t.ffn = c.Count("intermediate_size", kMostFfn);
    t.vocabulary = c.Count("vocab_size", kMostWords);
    t.tied = c.Flag("tie_word_embeddings", false);
    t.dropout = c.Positive("hidden_dropout", 0);
    if (!c.Flag("attention_bias", true))
    {
        c.In().Fail("attention_bias", "is not known here; allowed: true");
    }
    model.sequence = TrainedSequence(c, 2048);
}

void
ReadBloom(Config& c, Transformer& t, ModelSpec& model)
{
    t.hidden = c.Count(c.Either("hidden_size", "n_embed"), kMostHidden);
    t.layers = c.Count(c.Either("n_layer", "num_hidden_layers"), kMostLayers);
    t.heads = c.Count(c.Either("n_head", "num_attention_heads"), kMostHeads);
    t.kvHeads = t.heads;
    t.ffn = 4 * t.hidden;
    t.vocabulary = c.Count("vocab_size", kMostWords);
    t.tied = c.Flag("tie_word_embeddings", true);
    t.embeddingNorm = true;
    t.dropout = c.Positive("hidden_dropout", 0);
    model.sequence = c.Given("seq_length") ? c.Count("seq_length", kMostSequence) : 2048;
}

void
ReadOpt(Config& c, Transformer& t, ModelSpec& model)
{
    ReadUsual(c, t);
    t.ffn = c.Count("ffn_dim", kMostFfn);
    t.vocabulary = c.Count("vocab_size", kMostWords);
    model.sequence = c.Count("max_position_embeddings", kMostSequence);
    t.positions = model.sequence + 2; // the library's table starts at the third row
    t.tied = c.Flag("tie_word_embeddings", true);
    t.bias = c.Flag("enable_bias", true);
    t.dropout = c.Positive("dropout", 0.1);
    t.finalNorm =
        c.Flag("do_layer_norm_before", true) && !c.Flag("_remove_final_layer_norm", false);
    if (c.Count("word_embed_proj_dim", kMostHidden, t.hidden) != t.hidden)
    {
        c.In().Fail("word_embed_proj_dim",
                    "other than hidden_size is not known here; allowed: " +
                        std::to_string(t.hidden));
    }
}

void
ReadBert(Config& c, Transformer& t, ModelSpec& model)
{
    ReadUsual(c, t);
    t.ffn = c.Count("intermediate_size", kMostFfn);
    t.vocabulary = c.Count("vocab_size", kMostWords);
    t.positions = c.Count("max_position_embeddings", kMostSequence);
    t.tokenTypes = c.Count("type_vocab_size", kMostHeads, 2, 0);
    t.dropout = c.Positive("hidden_dropout_prob", 0.1);
    t.embeddingNorm = true;
    t.finalNorm = false;
    t.causal = false;
    t.head = false;
    t.maskedHead = c.IsFor("ForMaskedLM") || c.IsFor("ForPreTraining");
    t.pooler = !c.IsFor("ForMaskedLM");
    if (c.Given("architectures") && !t.maskedHead && !c.IsFor("BertModel"))
    {
        c.In().Fail("architectures",
                    "has a head that is not known here; allowed: [\"BertModel\"], "
                    "[\"BertForMaskedLM\"] and [\"BertForPreTraining\"]");
    }
    model.sequence = t.positions;
}

void
ReadT5(Config& c, Transformer& t, ModelSpec& model)
{
    t.hidden = c.Count("d_model", kMostHidden);
    t.headSize = c.Count("d_kv", kMostHeads);
    t.ffn = c.Count("d_ff", kMostFfn);
    t.encoderLayers = c.Count("num_layers", kMostLayers);
    t.layers = c.Given("num_decoder_layers") ? c.Count("num_decoder_layers", kMostLayers)
                                             : t.encoderLayers;
    t.heads = c.Count("num_heads", kMostHeads);
    t.kvHeads = t.heads;
    t.vocabulary = c.Count("vocab_size", kMostWords);
    t.relativePositions = c.Count("relative_attention_num_buckets", kMostHeads, 32);
    const std::string form = c.Text("feed_forward_proj", "relu");
    // As T5Config has it (src/transformers/models/t5/configuration_t5.py): the name of an
    // activation, or "gated-" and one; "is_gated_act" overrides it, as in Flan-T5's first files.
    const bool gated = form.compare(0, 6, "gated-") == 0;
    const std::string activation = gated ? form.substr(6) : form;
    if (activation.empty() || activation.find('-') != std::string::npos)
    {
        c.In().Fail("feed_forward_proj",
                    "is not the name of an activation, or \"gated-\" and one; allowed: e.g. relu, "
                    "gated-gelu");
    }
    t.gated = c.Flag("is_gated_act", gated);
    t.tied = c.Flag("tie_word_embeddings", true);
    t.dropout = c.Positive("dropout_rate", 0.1);
    t.rms = true;
    t.bias = false;
    model.sequence = c.Given("n_positions") ? c.Count("n_positions", kMostSequence) : 512;
}

void
ReadVit(Config& c, Transformer& t, ModelSpec& model)
{
    ReadUsual(c, t);
    t.ffn = c.Count("intermediate_size", kMostFfn);
    PatchShape& p = t.patches;
    p.image = c.Count("image_size", 1 << 14);
    p.patch = c.Count("patch_size", 1 << 14);
    p.channels = c.Given("num_channels") ? c.Count("num_channels", 1 << 14) : 3;
    p.classes = c.Given("id2label") && c.In().At("id2label").is_object()
                    ? static_cast<uint32_t>(c.In().At("id2label").size())
                    : c.Count("num_labels", kMostWords, 2);
    t.dropout = c.Positive("hidden_dropout_prob", 0);
    t.causal = false;
    if (!c.Flag("qkv_bias", true))
    {
        c.In().Fail("qkv_bias", "is not known here; allowed: true");
    }
    if (p.patch > 0 && p.image % p.patch != 0)
    {
        c.In().Fail("patch_size", "does not divide image_size, " + std::to_string(p.image));
    }
    model.hasSequence = false;
    model.sequence = 1;
}

struct ModelKind
{
    const char* type;   ///< "model_type"
    const char* prefix; ///< prefix of the names of its classes, in "architectures"
    const char* family;
    const char* headsKey;
    void (*read)(Config&, Transformer&, ModelSpec&);
};

constexpr ModelKind kModelKinds[] = {
    {"llama", "Llama", "Llama", "num_attention_heads", ReadLlama},
    {"mistral", "Mistral", "Mistral", "num_attention_heads", ReadLlama},
    {"mixtral", "Mixtral", "Mixtral", "num_attention_heads", ReadMixtral},
    {"qwen2", "Qwen2", "Qwen2", "num_attention_heads", ReadQwen2},
    {"deepseek", "Deepseek", "DeepSeek", "num_attention_heads", ReadDeepSeek},
    {"deepseek_v2", "DeepseekV2", "DeepSeek", "num_attention_heads", ReadDeepSeek},
    {"deepseek_v3", "DeepseekV3", "DeepSeek", "num_attention_heads", ReadDeepSeek},
    {"gpt2", "GPT2", "GPT-2", "n_head", ReadGpt2},
    {"gpt_neox", "GPTNeoX", "GPT-NeoX", "num_attention_heads", ReadGptNeoX},
    {"bloom", "Bloom", "BLOOM", "n_head", ReadBloom},
    {"opt", "OPT", "OPT", "num_attention_heads", ReadOpt},
    {"bert", "Bert", "BERT", "num_attention_heads", ReadBert},
    {"t5", "T5", "T5", "num_heads", ReadT5},
    {"vit", "ViT", "ViT", "num_attention_heads", ReadVit},
};

/// The kind that "model_type" names, or the class in "architectures" (its name is the prefix and
/// "For..." or "Model", "LMHeadModel").
const ModelKind*
KindOf(Config& c)
{
    std::vector<std::string> types;
    for (const ModelKind& kind : kModelKinds)
    {
        types.emplace_back(kind.type);
    }
    if (c.Given("model_type"))
    {
        const std::string type = c.Text("model_type", "");
        if (!c.In().At("model_type").is_string())
        {
            return nullptr; // which is said
        }
        for (const ModelKind& kind : kModelKinds)
        {
            if (type == kind.type)
            {
                return &kind;
            }
        }
        c.In().Fail("model_type",
                    "is none that is known here; allowed: " + topo::JoinNames(types) +
                        topo::DidYouMean(type, types));
        return nullptr;
    }
    for (const ModelKind& kind : kModelKinds)
    {
        for (const char* rest : {"ForCausalLM",
                                 "LMHeadModel",
                                 "ForConditionalGeneration",
                                 "ForMaskedLM",
                                 "ForPreTraining",
                                 "ForImageClassification",
                                 "Model"})
        {
            const std::string name = std::string(kind.prefix) + rest;
            if (c.IsFor(name) && c.In().At("architectures")[0].get<std::string>() == name)
            {
                return &kind;
            }
        }
    }
    if (!c.In().Has("architectures"))
    {
        c.In().Missing("model_type",
                       ", as is /architectures: which of Hugging Face's is it? allowed: " +
                           topo::JoinNames(types));
        return nullptr;
    }
    c.In().Fail("architectures",
                "names none that is known here; say \"model_type\", allowed: " +
                    topo::JoinNames(types));
    return nullptr;
}

} // namespace

bool
IsHuggingFace(const nlohmann::json& json)
{
    // The last are the width in the words of all kinds that are read, and of none of our forms.
    const char* const members[] = {"model_type",
                                   "architectures",
                                   "hidden_size",
                                   "n_embd",
                                   "d_model"};
    return json.is_object() &&
           std::any_of(std::begin(members), std::end(members), [&](const char* member) {
               return json.contains(member);
           });
}

void
BuildHuggingFace(ModelSpec& model, topo::JsonObject& in)
{
    Config c(in);
    const ModelKind* kind = KindOf(c);
    if (kind == nullptr)
    {
        return;
    }
    model.name = c.Text("_name_or_path", "");
    model.name = model.name.empty() ? kind->type : model.name;
    model.family = kind->family;
    model.source = "a config.json of Hugging Face";
    Transformer t;
    const size_t before = in.Errors();
    kind->read(c, t, model);
    if (in.Errors() > before)
    {
        return;
    }
    if (t.headSize == 0)
    {
        t.headSize = t.hidden / t.heads;
        if (t.hidden % t.heads != 0)
        {
            in.Fail(c.Either(kind->headsKey, "num_attention_heads"),
                    "does not divide the hidden size, " + std::to_string(t.hidden));
            return;
        }
    }
    if (t.heads % t.kvHeads != 0)
    {
        in.Fail("num_key_value_heads",
                "does not divide num_attention_heads, " + std::to_string(t.heads));
        return;
    }
    if (t.experts.topK > t.experts.count)
    {
        in.Fail("num_experts_per_tok",
                "is more than there are experts, " + std::to_string(t.experts.count));
        return;
    }
    model.transformer = static_cast<const TransformerShape&>(t);
    AddTransformerLayers(model, t);
}

} // namespace training
