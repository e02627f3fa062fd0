/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/models/config-reader.h"

#include "topologies/names.h"

#include <algorithm>

namespace training
{

bool
Config::Given(const char* key)
{
    return m_in.Has(key) && !m_in.At(key).is_null();
}

uint32_t
Config::Count(const char* key, uint64_t most)
{
    uint32_t value = 0;
    m_in.Whole(key, value, 1, most, topo::Need::kRequired);
    return value;
}

uint32_t
Config::Count(const char* key, uint64_t most, uint32_t missing, uint64_t least)
{
    uint32_t value = missing;
    if (Given(key))
    {
        m_in.Whole(key, value, least, most);
    }
    return value;
}

bool
Config::Flag(const char* key, bool missing)
{
    bool value = missing;
    if (Given(key))
    {
        m_in.Flag(key, value);
    }
    return value;
}

bool
Config::Positive(const char* key, double missing)
{
    double value = missing;
    if (Given(key))
    {
        m_in.Real(key, value, 0, 1);
    }
    return value > 0;
}

std::string
Config::Text(const char* key, const std::string& missing)
{
    std::string value = missing;
    if (Given(key))
    {
        m_in.Text(key, value);
    }
    return value;
}

std::vector<std::string>
Config::Texts(const char* key, const std::vector<std::string>& allowed)
{
    std::vector<std::string> texts;
    const nlohmann::json* const list = Given(key) ? m_in.List(key) : nullptr;
    for (std::size_t i = 0; list && i < list->size(); ++i)
    {
        const nlohmann::json& entry = (*list)[i];
        const std::string text = entry.is_string() ? entry.get<std::string>() : "";
        if (std::find(allowed.begin(), allowed.end(), text) == allowed.end())
        {
            m_in.Say(key + std::string("/") + std::to_string(i),
                     "is not known here; allowed: " + topo::JoinNames(allowed));
            return {};
        }
        texts.push_back(text);
    }
    return texts;
}

std::vector<uint32_t>
Config::Counts(const char* key, uint64_t most)
{
    std::vector<uint32_t> counts;
    const nlohmann::json* const list = Given(key) ? m_in.List(key) : nullptr;
    for (std::size_t i = 0; list && i < list->size(); ++i)
    {
        const nlohmann::json& entry = (*list)[i];
        if (!entry.is_number_unsigned() || entry.get<uint64_t>() > most)
        {
            m_in.Say(key + std::string("/") + std::to_string(i),
                     "is not a whole number up to " + std::to_string(most));
            return {};
        }
        counts.push_back(entry.get<uint32_t>());
    }
    return counts;
}

const char*
Config::Either(const char* one, const char* other)
{
    return Given(one) || !Given(other) ? one : other;
}

bool
Config::IsFor(const std::string& ending)
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

void
Config::Refuse(const char* key, const std::string& message)
{
    if (m_in.Has(key))
    {
        m_in.Fail(key, message);
    }
    else
    {
        m_in.Say(key, message);
    }
}

void
Config::MustBeOff(const char* key)
{
    if (Flag(key, false))
    {
        m_in.Fail(key, "is not known here; allowed: false");
    }
}

bool
Config::HasOneEach(const char* key, std::size_t entries, uint32_t layers)
{
    if (entries != layers && layers > 0)
    {
        m_in.Say(key,
                 "has " + std::to_string(entries) + " entries for " + std::to_string(layers) +
                     " layers (num_hidden_layers)");
        return false;
    }
    return true;
}

void
ReadUsual(Config& c, Transformer& t)
{
    t.hidden = c.Count("hidden_size", kMostHidden);
    t.layers = c.Count("num_hidden_layers", kMostLayers);
    t.heads = c.Count("num_attention_heads", kMostHeads);
    t.kvHeads = t.heads;
}

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
    c.MustBeOff("mlp_bias");
    model.sequence = TrainedSequence(c, 2048);
}

std::vector<BlockShape>&
EachBlock(Transformer& t)
{
    if (t.blocks.empty())
    {
        BlockShape shape;
        shape.feed = t.experts.count > 0 ? Feed::kExperts : Feed::kMlp;
        t.blocks.resize(t.layers, shape);
    }
    return t.blocks;
}

bool
ReadLayerTypes(Config& c, Transformer& t, const std::string& other, uint32_t window)
{
    if (!c.Given("layer_types"))
    {
        return false;
    }
    const auto types = c.Texts("layer_types", {"full_attention", other});
    if (c.In().Errors() > 0 || !c.HasOneEach("layer_types", types.size(), t.layers))
    {
        return true; // which is said
    }
    std::vector<BlockShape>& blocks = EachBlock(t);
    for (uint32_t i = 0; i < t.layers; ++i)
    {
        const bool isOther = types[i] == other;
        const bool isLinear = isOther && other == "linear_attention";
        blocks[i].chunked = isOther && other == "chunked_attention";
        blocks[i].window = isOther && !isLinear ? window : 0;
        blocks[i].mixer = isLinear ? Mixer::kDelta : Mixer::kAttention;
    }
    return true;
}

void
ReadSparseBlocks(Config& c, Transformer& t)
{
    const uint32_t step = c.Count("decoder_sparse_step", kMostLayers, 1);
    const std::vector<uint32_t> dense = c.Counts("mlp_only_layers", kMostLayers);
    if (step > t.layers)
    {
        c.Refuse("decoder_sparse_step", "is more than the " + std::to_string(t.layers) + " layers");
    }
    if (std::any_of(dense.begin(), dense.end(), [&t](uint32_t layer) { return layer >= t.layers; }))
    {
        c.Refuse("mlp_only_layers",
                 "names a layer that there is not; allowed: 0 to " + std::to_string(t.layers - 1));
    }
    if (step == 1 && dense.empty())
    {
        return;
    }
    std::vector<BlockShape>& blocks = EachBlock(t);
    for (uint32_t i = 0; i < t.layers; ++i)
    {
        const bool only = std::find(dense.begin(), dense.end(), i) != dense.end();
        blocks[i].feed = only || (i + 1) % step != 0 ? Feed::kMlp : Feed::kExperts;
    }
}

void
ReadRoutedExperts(Config& c, Transformer& t, uint32_t denseFirst)
{
    if (!c.Given("n_routed_experts"))
    {
        return;
    }
    ExpertsShape& e = t.experts;
    e.count = c.Count("n_routed_experts", kMostHeads);
    e.topK = c.Count("num_experts_per_tok", kMostHeads);
    e.ffn = c.Count("moe_intermediate_size", kMostFfn);
    const uint64_t shared = uint64_t{c.Count("n_shared_experts", kMostHeads, 0, 0)} * e.ffn;
    if (shared > kMostFfn)
    {
        c.Refuse("n_shared_experts",
                 "experts of width " + std::to_string(e.ffn) + " are " + std::to_string(shared) +
                     " wide together; allowed: at most " + std::to_string(kMostFfn));
    }
    e.sharedFfn = static_cast<uint32_t>(std::min(shared, kMostFfn));
    e.denseFirst = c.Count("first_k_dense_replace", kMostLayers, denseFirst, 0);
    if (e.denseFirst > t.layers)
    {
        c.Refuse("first_k_dense_replace",
                 "is more than the " + std::to_string(t.layers) + " layers");
    }
    if (c.Count("moe_layer_freq", kMostLayers, 1) != 1)
    {
        c.In().Fail("moe_layer_freq", "is not known here; allowed: 1");
    }
}

void
ReadPredictor(Config& c, Transformer& t)
{
    t.predictor = c.Count("num_nextn_predict_layers", kMostLayers, 0, 0) > 0;
}

} // namespace training
