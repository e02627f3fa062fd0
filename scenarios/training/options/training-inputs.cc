/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/options/training-inputs.h"

#include "scenarios/asked/cluster.h"
#include "scenarios/asked/model.h"
#include "scenarios/asked/training.h"
#include "scenarios/network/cluster-options.h"
#include "scenarios/network/parse-detail.h"
#include "scenarios/training/options/training-options.h"
#include "topologies/json-reader.h"

#include <string>

namespace scenario
{

void
TakeFileErrors(Validation* v, const std::vector<topo::Error>& errors)
{
    for (const auto& e : errors)
    {
        v->errors.push_back({"", "", e.Sentence(), ""});
    }
}

namespace
{

/// JSON of a file named by an option, or an error.
std::optional<nlohmann::json>
JsonFile(Validation* v, Member option, const std::string& file)
{
    std::vector<topo::Error> errors;
    const auto text = topo::ReadWholeFile(file, errors);
    if (!text)
    {
        v->FailFile(option, errors);
        return std::nullopt;
    }
    auto json = topo::ReadJson(*text, file, errors);
    TakeFileErrors(v, errors);
    return json;
}

/// Parses the JSON file that an option names; nothing after an error.
template <class T>
std::optional<T>
FromFile(Validation* v,
         Member option,
         const std::string& file,
         std::optional<T> (*parse)(const nlohmann::json&,
                                   const std::string&,
                                   std::vector<topo::Error>&))
{
    const auto json = JsonFile(v, option, file);
    if (!json)
    {
        return std::nullopt;
    }
    std::vector<topo::Error> errors;
    auto parsed = parse(*json, file, errors);
    TakeFileErrors(v, errors);
    return parsed;
}

std::string
Extension(const std::string& file)
{
    const size_t slash = file.find_last_of('/');
    const size_t dot = file.find_last_of('.');
    return dot == std::string::npos || (slash != std::string::npos && dot < slash)
               ? ""
               : file.substr(dot);
}

/// "vgg16" of "profiles/vgg16.csv".
std::string
Stem(const std::string& file)
{
    const size_t slash = file.find_last_of('/');
    const std::string name = slash == std::string::npos ? file : file.substr(slash + 1);
    return name.substr(0, name.size() - Extension(file).size());
}

std::optional<training::GpuSpec>
GpuOfOption(Validation* v)
{
    const std::string& name = v->values.Get(&asked::Model::gpu);
    auto gpu = training::FindGpu(name);
    if (gpu)
    {
        return gpu;
    }
    gpu = FromFile(v, &asked::Model::gpu, name, training::ParseGpuJson);
    if (gpu && !gpu->ratesOf.empty())
    {
        v->notes.push_back(gpu->name + ": kernels reach the shares of its peaks that " +
                           gpu->ratesOf +
                           "'s do where its file gives no efficiency "
                           "(docs/scenarios.md)");
    }
    return gpu;
}

} // namespace

bool
IsCsvProfile(const Values& values)
{
    return Extension(values.Get(&asked::Training::profile)) == ".csv";
}

std::optional<training::LayerProfile>
ChosenProfile(Validation* v, training::ProfileShape* shape)
{
    const auto& values = v->values;
    v->Settle(&asked::Training::profile);
    if (!values.Given(&asked::Training::profile))
    {
        return std::nullopt;
    }
    const std::string& file = values.Get(&asked::Training::profile);
    const bool isCsv = IsCsvProfile(values);
    std::optional<training::LayerProfile> profile;
    if (isCsv)
    {
        std::vector<topo::Error> errors;
        const auto text = topo::ReadWholeFile(file, errors);
        if (!text)
        {
            v->FailFile(&asked::Training::profile, errors);
            return std::nullopt;
        }
        const std::string model = values.Given(&asked::Training::profileModel)
                                      ? values.Get(&asked::Training::profileModel)
                                      : std::string();
        profile = training::ParseProfileCsv(*text, file, model, errors);
        TakeFileErrors(v, errors);
        if (profile && !profile->note.empty())
        {
            v->notes.push_back(profile->note);
        }
    }
    else
    {
        if (const auto json = JsonFile(v, &asked::Training::profile, file))
        {
            std::vector<topo::Error> errors;
            profile = training::ParseProfileJson(*json, file, errors);
            TakeFileErrors(v, errors);
            *shape = profile ? training::ShapeOfProfile(*json) : *shape;
        }
    }
    if (profile && values.Given(&asked::Training::profileBatch))
    {
        const uint32_t batch = values.Get(&asked::Training::profileBatch);
        if (profile->batch != 0 && profile->batch != batch)
        {
            v->Fail(&asked::Training::profileBatch,
                    file + " says " + std::to_string(profile->batch),
                    std::to_string(profile->batch));
        }
        profile->batch = batch;
    }
    return profile;
}

namespace
{

/// Adds --mtp's modules. \return whether the model has any
bool
WithPredictors(Validation* v, training::ModelSpec* model)
{
    const auto count = static_cast<uint32_t>(v->values.Get(&asked::Training::mtp));
    if (count > 0 && model->predictor.empty())
    {
        v->Fail(&asked::Training::mtp,
                "is " + std::to_string(count) + ", but " + model->name +
                    " has no module for multi-token prediction; allowed: 0");
        return false;
    }
    training::AddPredictors(*model, count);
    return true;
}

} // namespace

std::optional<training::ModelSpec>
NamedModel(Validation* v, Member option, const std::string& name)
{
    auto model = training::FindModel(name);
    return model ? model : FromFile(v, option, name, training::ParseModelJson);
}

std::optional<training::ModelSpec>
ChosenModel(Validation* v, std::optional<training::LayerProfile>* profile)
{
    const bool inOrder = *profile && (*profile)->inOrder;
    if (inOrder)
    {
        v->DecideUnlessGiven(&asked::Model::model, kProfileModel);
    }
    if (v->values.Get(&asked::Model::model) == kProfileModel)
    {
        if (!inOrder)
        {
            // An unreadable profile has been reported already.
            if (*profile || !v->values.Given(&asked::Training::profile))
            {
                v->Fail(&asked::Model::model,
                        *profile ? "the layers of " + v->values.Get(&asked::Training::profile) +
                                       " stand in no order; allowed: a list of them, or CSV"
                                 : "needs --profile");
            }
            return std::nullopt;
        }
        if ((*profile)->batch == 0)
        {
            v->Fail(&asked::Training::profile,
                    "does not say of how many samples its times are; give --profile-batch");
            return std::nullopt;
        }
        if ((*profile)->elementBytes == 4)
        {
            v->DecideUnlessGiven(&asked::Model::dtype, "fp32");
        }
        auto model =
            training::ModelOfProfile(**profile, Stem(v->values.Get(&asked::Training::profile)));
        model.source = v->values.Get(&asked::Training::profile);
        return WithPredictors(v, &model) ? std::optional(model) : std::nullopt;
    }
    auto model = NamedModel(v, &asked::Model::model, v->values.Get(&asked::Model::model));
    if (model && !WithPredictors(v, &*model))
    {
        return std::nullopt;
    }
    return model;
}

void
ChooseServerAndGpu(Validation* v,
                   std::optional<topo::ServerSpec>* server,
                   std::optional<training::GpuSpec>* gpu)
{
    auto& values = v->values;
    const bool gpuGiven = values.Given(&asked::Model::gpu);
    if (gpuGiven)
    {
        *gpu = GpuOfOption(v);
        if (!*gpu)
        {
            return;
        }
        if (!values.Given(&asked::Cluster::server) && !TopologyHasServer(values))
        {
            const auto& presets = topo::ServerPresets();
            const std::string& name = (*gpu)->name;
            const topo::ServerSpec* fitting = topo::FindServerForGpu(presets, name);
            fitting =
                fitting ? fitting : topo::FindServerForGpu(presets, name.substr(0, name.find('-')));
            if (fitting)
            {
                v->Decide(&asked::Cluster::server, fitting->name);
            }
            else
            {
                v->notes.push_back("no server preset has " + name + " GPUs: they stand in a " +
                                   values.Get(&asked::Cluster::server) +
                                   ", with its links; --server says otherwise");
            }
        }
    }
    *server = ChosenServer(v);
    if (!*server)
    {
        return;
    }
    if (!gpuGiven)
    {
        *gpu = training::FindGpu((*server)->gpu);
        if (!*gpu)
        {
            v->Fail(&asked::Cluster::server,
                    "has GPUs called " + (*server)->gpu +
                        ", which are not known; give --gpu, allowed: " + JoinNames(GpuItems()));
            return;
        }
        v->Decide(&asked::Model::gpu, (*gpu)->name);
    }
    (*server)->gpu = (*gpu)->name;
}

void
ChooseDtype(Validation* v, const training::GpuSpec& gpu)
{
    const std::string usual = v->values.Get(&asked::Model::dtype);
    if (v->values.Given(&asked::Model::dtype) || gpu.Peak(*training::ParseDtype(usual)) > 0)
    {
        return;
    }
    for (const char* narrower : {"fp16", "fp32"})
    {
        if (gpu.Peak(*training::ParseDtype(narrower)) > 0)
        {
            v->Decide(&asked::Model::dtype, narrower);
            v->notes.push_back(gpu.name + " has no " + usual + ": --dtype=" + narrower +
                               " is taken");
            return;
        }
    }
}

} // namespace scenario
