/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The forms of a model's JSON (model-json.cc tells them apart): each appends its layers, and
 * reports mistakes through the reader.
 */
#ifndef SCENARIOS_MODELS_MODEL_FORMS_H
#define SCENARIOS_MODELS_MODEL_FORMS_H

#include "scenarios/models/model-zoo.h"
#include "topologies/json-reader.h"

namespace training
{

/// The largest count that a file may have.
constexpr uint64_t kMost = 1ULL << 40;

/// A product with parameters: `rows` a sample, from `inner` inputs to `columns` outputs each.
Operator Product(Work rows, double columns, double inner);

/// The product of two lengths of a sample: pairs of their tokens.
Work Times(const Work& a, const Work& b);

/// A kernel that the memory bounds: elements read and written.
void AddPointwise(Part& part, Work elements, Split split = Split::kWhole);

/// Whether a file is a config.json of Hugging Face.
bool IsHuggingFace(const nlohmann::json& json);

/// Says its name, too, which the others take from the file.
void BuildHuggingFace(ModelSpec& model, topo::JsonObject& in);
void BuildTransformer(ModelSpec& model, topo::JsonObject& in);
void BuildOperators(ModelSpec& model, topo::JsonObject& in);
void BuildList(ModelSpec& model, topo::JsonObject& in);
void BuildGraph(ModelSpec& model, topo::JsonObject& in);

} // namespace training

#endif // SCENARIOS_MODELS_MODEL_FORMS_H
