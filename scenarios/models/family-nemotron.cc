/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Nemotron-H (NemotronHConfig of huggingface/transformers
 * src/transformers/models/nemotron_h/configuration_nemotron_h.py): a block is Mamba-2, attention,
 * an MLP or experts, by a letter each (M * - E). MLPs have two matrices.
 */
#include "scenarios/models/family.h"

namespace training
{

namespace
{

/// The kinds of blocks: a word each, or a letter.
std::vector<std::string>
NemotronBlocks(Config& c)
{
    if (!c.Given("hybrid_override_pattern"))
    {
        return c.Texts("layers_block_type",
                       {"mamba", "attention", "mlp", "moe", "linear_attention", "full_attention"});
    }
    std::vector<std::string> kinds;
    for (const char letter : c.Text("hybrid_override_pattern", ""))
    {
        switch (letter)
        {
        case 'M':
            kinds.emplace_back("mamba");
            break;
        case '*':
            kinds.emplace_back("attention");
            break;
        case '-':
            kinds.emplace_back("mlp");
            break;
        case 'E':
            kinds.emplace_back("moe");
            break;
        default:
            c.Refuse("hybrid_override_pattern", "has other letters than M, *, - and E");
            return {};
        }
    }
    return kinds;
}

void
ReadMamba(Config& c, Transformer& t)
{
    MambaShape& m = t.mamba;
    m.heads = c.Count("mamba_num_heads", kMostHeads, 128);
    m.headSize = c.Count("mamba_head_dim", kMostHeads, 64);
    m.groups = c.Count(c.Either("n_groups", "mamba_n_groups"), kMostHeads, 8);
    m.state = c.Count("ssm_state_size", kMostHeads, 128);
    m.kernel = c.Count(c.Either("conv_kernel", "mamba_d_conv"), kMostHeads, 4);
    m.chunk = c.Count(c.Either("chunk_size", "mamba_chunk_size"), kMostSequence, 128);
    m.bias = c.Flag("use_bias", false);
    m.convolutionBias = c.Flag(c.Either("use_conv_bias", "mamba_conv_bias"), true);
    t.recurrences = m.groups;
    if (m.groups > 0 && m.heads % m.groups != 0)
    {
        c.Refuse(c.Either("n_groups", "mamba_n_groups"),
                 "does not divide mamba_num_heads, " + std::to_string(m.heads));
    }
}

void
ReadNemotronExperts(Config& c, Transformer& t)
{
    ExpertsShape& e = t.experts;
    e.count = c.Count("n_routed_experts", kMostHeads, 8);
    e.topK = c.Count("num_experts_per_tok", kMostHeads, 2);
    e.ffn = c.Count("moe_intermediate_size", kMostFfn, 7688);
    e.sharedFfn = c.Count("moe_shared_expert_intermediate_size", kMostFfn, 7688);
    e.latent = c.Count("moe_latent_size", kMostHidden, 0);
    e.routerBias = true;
}

void
ReadNemotronH(Config& c, Transformer& t, ModelSpec& model)
{
    t.hidden = c.Count("hidden_size", kMostHidden);
    t.heads = c.Count("num_attention_heads", kMostHeads);
    t.kvHeads = c.Count("num_key_value_heads", kMostHeads, 8);
    t.headSize = c.Count(c.Either("head_dim", "attention_head_dim"), kMostHeads, 128);
    t.ffn = c.Count("intermediate_size", kMostFfn, 21504);
    t.vocabulary = c.Count("vocab_size", kMostWords);
    t.tied = c.Flag("tie_word_embeddings", false);
    t.rms = true;
    t.bias = false;
    t.dropout = c.Positive("hidden_dropout", 0);
    t.qkvBias = t.outputBias = c.Flag("attention_bias", false);
    c.MustBeOff("mlp_bias");
    t.window = c.Count("sliding_window", kMostSequence, 0);
    model.sequence = TrainedSequence(c, 4096);
    const std::size_t before = c.In().Errors();
    const std::vector<std::string> kinds = NemotronBlocks(c);
    t.layers = static_cast<uint32_t>(kinds.size());
    if (kinds.empty())
    {
        if (c.In().Errors() == before)
        {
            c.In().Say(c.Either("hybrid_override_pattern", "layers_block_type"),
                       "has no blocks, or is missing");
        }
        return;
    }
    if (kinds.size() > kMostLayers ||
        c.Count("num_hidden_layers", kMostLayers, t.layers) != t.layers)
    {
        c.Refuse("num_hidden_layers",
                 "is not the number of blocks in " +
                     std::string(c.Either("hybrid_override_pattern", "layers_block_type")) + ", " +
                     std::to_string(t.layers));
        return;
    }
    for (const std::string& kind : kinds)
    {
        BlockShape shape{Mixer::kNone, Feed::kNone};
        shape.window = t.window;
        if (kind == "mamba" || kind == "linear_attention")
        {
            shape.mixer = Mixer::kMamba;
        }
        else if (kind == "attention" || kind == "full_attention")
        {
            shape.mixer = Mixer::kAttention;
        }
        else
        {
            shape.feed = kind == "moe" ? Feed::kExperts : Feed::kMlp;
        }
        t.blocks.push_back(shape);
        if (shape.mixer == Mixer::kMamba && t.mamba.heads == 0)
        {
            ReadMamba(c, t);
        }
        if (shape.feed == Feed::kExperts && t.experts.count == 0)
        {
            ReadNemotronExperts(c, t);
        }
    }
}

const RegisteredFamily g_nemotron({"nemotron",
                                   {{"nemotron_h", "NemotronH", "Nemotron", ReadNemotronH}}});

} // namespace

} // namespace training
