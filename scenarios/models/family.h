/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A family of models: its models in scenarios/zoo/models/NAME.json, and, in family-NAME.cc, the
 * types of Hugging Face's config.json that it reads. To add a model, add its entry to the JSON; to
 * add a type, its reader.
 *
 * The models are in the form that users write, too (model-json.cc). Where `parameters_published` or
 * `active_published` stands, the arithmetic on the shapes gives exactly that number (ParseModelJson
 * insists). An entry's "config" has the members of the published config.json that shape the model.
 */
#ifndef SCENARIOS_MODELS_FAMILY_H
#define SCENARIOS_MODELS_FAMILY_H

#include "scenarios/models/config-reader.h"
#include "topologies/registered.h"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace training
{

/// A "model_type" of Hugging Face.
struct ConfigType
{
    const char* type;   ///< "qwen3_moe"
    const char* prefix; ///< prefix of the names of its classes, in "architectures": "Qwen3Moe"
    const char* family; ///< "Qwen"
    void (*read)(Config&, Transformer&, ModelSpec&);
    const char* headsKey = "num_attention_heads";
    /// The language model's members stand in "text_config", beside those of pictures.
    bool inText = false;
};

/// What a family reads; registered under the name of its JSON.
struct ModelFamily
{
    static constexpr const char* kWhat = "families of models";

    std::string name;
    std::vector<ConfigType> types;
    int rank = 0; ///< the JSON has the order
};

using RegisteredFamily = topo::Registered<ModelFamily>;

/// A family's JSON.
struct FamilyModels
{
    std::string name; ///< of the file: "llama"
    int order;
    nlohmann::json models; ///< sizes ascending
};

/// In the order in which they are listed.
const std::vector<FamilyModels>& FamiliesOfModels();
/// Of all families, in the same order.
std::vector<ConfigType> ConfigTypes();

} // namespace training

#endif // SCENARIOS_MODELS_FAMILY_H
