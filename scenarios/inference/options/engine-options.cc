/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/inference/options/engine-options.h"

#include "scenarios/asked/serving.h"
#include "scenarios/inference/engine-preset.h"
#include "scenarios/inference/options/serving-words.h"
#include "scenarios/inference/scheduler.h"
#include "scenarios/options/format.h"

#include <algorithm>
#include <string>

namespace scenario
{

namespace
{

void
ReadRoom(Validation* v, ServingScenario* s)
{
    s->kvRoom = {serving::KvRoom::Of::kAll, s->kvMemory};
    if (!v->values.Has(&asked::Serving::kvOf))
    {
        return;
    }
    if (v->values.Given(&asked::Serving::kvOf) && v->values.Given(&asked::Serving::kvTokens))
    {
        v->Fail(&asked::Serving::kvOf, "--kv-tokens says it, too; allowed: one of both");
    }
    if (v->values.Given(&asked::Serving::kvOf) && v->values.Given(&asked::Serving::kvMemory))
    {
        v->Fail(&asked::Serving::kvOf, "--kv-memory says it, too; allowed: one of both");
        return;
    }
    const auto words = ParseKvRoom(v->values.Get(&asked::Serving::kvOf));
    if (!words.value)
    {
        v->Fail(&asked::Serving::kvOf, words.problem, words.nearest);
    }
    s->kvRoom = words.value.value_or(s->kvRoom);
}

void
ReadWaiting(Validation* v, serving::ServingSpec* spec)
{
    if (!v->values.Given(&asked::Serving::batchWait))
    {
        return;
    }
    const auto words = ParseBatchWait(v->values.Get(&asked::Serving::batchWait));
    if (!words.value)
    {
        v->Fail(&asked::Serving::batchWait, words.problem);
        return;
    }
    spec->waitIterations = words.value->iterations;
    spec->waitShare = words.value->share;
}

} // namespace

void
ApplyEngine(Validation* v, ServingScenario* s)
{
    const auto& preset =
        serving::RegisteredEnginePreset::Get(v->values.Get(&asked::Serving::framework));
    if (!preset.defaults)
    {
        return;
    }
    const serving::EngineDefaults of = preset.defaults(s->gpu, s->model.sequence);
    std::string decided;
    const auto decide = [&](auto member, const auto& value, const std::string& text) {
        if (!v->values.Given(member))
        {
            v->Decide(member, value);
            decided += std::string(decided.empty() ? "--" : ", --") + OptionOf(member) + "=" + text;
        }
    };
    decide(&asked::Serving::scheduler, of.scheduler, of.scheduler);
    const auto& scheduler =
        serving::RegisteredScheduler::Find(v->values.Get(&asked::Serving::scheduler));
    decide(&asked::Serving::maxBatch, of.maxBatch, std::to_string(of.maxBatch));
    if (scheduler && scheduler->hasBudget)
    {
        // A budget below the requests that run is refused: they have a token each.
        const uint32_t budget = std::max(of.tokenBudget, v->values.Get(&asked::Serving::maxBatch));
        decide(&asked::Serving::tokenBudget, budget, std::to_string(budget));
        decide(&asked::Serving::chunkedPrefill, of.chunkedPrefill, of.chunkedPrefill ? "1" : "0");
    }
    if (!v->values.Given(&asked::Serving::kvMemory) && !v->values.Given(&asked::Serving::kvTokens))
    {
        decide(&asked::Serving::kvOf, of.kvOf, of.kvOf);
    }
    s->engineText = preset.name + (decided.empty() ? ", which decides nothing here: all is given"
                                                   : " decides " + decided);
}

void
ReadEngine(Validation* v, ServingScenario* s)
{
    const Values& values = v->values;
    const std::string& name = values.Get(&asked::Serving::framework);
    s->framework = *serving::FindFramework(name);
    const serving::EnginePreset& preset = serving::RegisteredEnginePreset::Get(name);
    if (preset.onGpu)
    {
        preset.onGpu(s->gpu, &s->framework);
    }
    ReadRoom(v, s);
    ReadWaiting(v, &s->serving);
    if (values.Given(&asked::Serving::cudaGraphs))
    {
        s->framework.graph = values.Get(&asked::Serving::cudaGraphs);
    }
    if (values.Get(&asked::Serving::enforceEager))
    {
        if (values.Given(&asked::Serving::cudaGraphs) && s->framework.graph > 0)
        {
            v->Fail(&asked::Serving::enforceEager,
                    "--cuda-graphs says another number; allowed: one of both");
        }
        s->framework.graph = 0;
    }
    s->serving.ahead = s->framework.overlapped;
    s->serving.answerTime =
        values.Given(&asked::Serving::answerTime)
            ? static_cast<double>(values.Get(&asked::Serving::answerTime).ps) * 1e-12
            : s->framework.answer;
    s->serving.answerToken =
        values.Given(&asked::Serving::answerTime) ? 0 : s->framework.answerToken;
}

} // namespace scenario
