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
 * Each family has its readers in a file (family.h). Of a model that sees pictures, too, only the
 * language model is read ("text_config").
 *
 * Not in such a file, so assumed: the usual sequence is the longest that positions were trained for
 * (rope_scaling's original one, where it is scaled); T5's target is as long as its source.
 */
#include "contrib/rdma/core/name-rule.h"
#include "scenarios/models/family.h"
#include "scenarios/models/model-forms.h"
#include "topologies/names.h"

#include <algorithm>
#include <iterator>
#include <optional>

namespace training
{

namespace
{

/// The type that "model_type" names, or the class in "architectures" (its name is the prefix and
/// "For..." or "Model", "LMHeadModel").
std::optional<ConfigType>
TypeOf(Config& c)
{
    const std::vector<ConfigType> known = ConfigTypes();
    std::vector<std::string> types;
    for (const ConfigType& type : known)
    {
        types.emplace_back(type.type);
    }
    if (c.Given("model_type"))
    {
        const size_t before = c.In().Errors();
        const std::string type = c.Text("model_type", "");
        if (c.In().Errors() > before)
        {
            return std::nullopt; // which is said
        }
        for (const ConfigType& kind : known)
        {
            if (type == kind.type)
            {
                return kind;
            }
        }
        c.In().Fail("model_type",
                    "is none that is known here; allowed: " + topo::JoinNames(types) +
                        topo::DidYouMean(type, types));
        return std::nullopt;
    }
    for (const ConfigType& kind : known)
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
                return kind;
            }
        }
    }
    if (!c.In().Has("architectures"))
    {
        c.In().Missing("model_type",
                       ", as is /architectures: which of Hugging Face's is it? allowed: " +
                           topo::JoinNames(types));
        return std::nullopt;
    }
    c.In().Fail("architectures",
                "names none that is known here; say \"model_type\", allowed: " +
                    topo::JoinNames(types));
    return std::nullopt;
}

/// The model of a type's members.
void
Build(ModelSpec& model, const ConfigType& type, Config& c)
{
    topo::JsonObject& in = c.In();
    Transformer t;
    const size_t before = in.Errors();
    type.read(c, t, model);
    if (in.Errors() > before)
    {
        return;
    }
    if (t.headSize == 0)
    {
        t.headSize = t.hidden / t.heads;
        if (t.hidden % t.heads != 0)
        {
            c.Refuse(c.Either(type.headsKey, "num_attention_heads"),
                     "does not divide the hidden size, " + std::to_string(t.hidden));
            return;
        }
    }
    if (t.heads % t.kvHeads != 0)
    {
        c.Refuse("num_key_value_heads",
                 "does not divide num_attention_heads, " + std::to_string(t.heads));
        return;
    }
    if (t.experts.topK > t.experts.count)
    {
        c.Refuse(c.Either("num_experts_per_tok", "experts_per_token"),
                 "is more than there are experts, " + std::to_string(t.experts.count));
        return;
    }
    const bool dense = std::any_of(t.blocks.begin(), t.blocks.end(), [](const BlockShape& block) {
        return block.feed == Feed::kMlp;
    });
    if (t.experts.count > 0 && (t.blocks.empty() ? t.experts.denseFirst == 0 : !dense))
    {
        t.ffn = t.experts.ffn; // the only MLPs that there are
    }
    t.latentRank = t.latent.kvRank;
    t.latentRotary = t.latent.rotary;
    model.transformer = static_cast<const TransformerShape&>(t);
    AddTransformerLayers(model, t);
}

} // namespace

bool
IsHuggingFace(const nlohmann::json& json)
{
    // The last are the width in the words of all kinds that are read, and of none of our forms.
    const char* const members[] =
        {"model_type", "architectures", "hidden_size", "text_config", "n_embd", "d_model"};
    return json.is_object() &&
           std::any_of(std::begin(members), std::end(members), [&](const char* member) {
               return json.contains(member);
           });
}

void
BuildHuggingFace(ModelSpec& model, topo::JsonObject& in)
{
    Config c(in);
    const std::optional<ConfigType> type = TypeOf(c);
    if (!type)
    {
        return;
    }
    model.name = c.Text("_name_or_path", "");
    if (!rdma::IsName(model.name))
    {
        c.Refuse("_name_or_path", std::string("is no name; allowed: ") + rdma::kNameHelp);
    }
    model.name = model.name.empty() ? type->type : model.name;
    model.family = type->family;
    model.source = "a config.json of Hugging Face";
    if (!type->inText)
    {
        Build(model, *type, c);
    }
    else if (!c.Given("text_config"))
    {
        in.Missing("text_config", ", in which a " + std::string(type->type) + " says its shape");
    }
    else if (!in.At("text_config").is_object())
    {
        in.Fail("text_config", "is not an object");
    }
    else
    {
        topo::JsonObject inner = in.Inner(in.At("text_config"), "text_config");
        Config text(inner);
        // "gemma3_text" in a "gemma3", "mistral" in a "mistral3".
        const std::string outside = type->type;
        const std::string inside = text.Text("model_type", outside);
        if (inside.rfind(outside, 0) != 0 && outside.rfind(inside, 0) != 0)
        {
            text.Refuse("model_type",
                        "is another type than the " + outside + " around it; allowed: " + outside +
                            ", " + outside + "_text, or the text model's config.json alone");
            return;
        }
        Build(model, *type, text);
    }
}

} // namespace training
