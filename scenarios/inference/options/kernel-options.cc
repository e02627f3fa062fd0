/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/inference/options/kernel-options.h"

#include "scenarios/asked/degrees.h"
#include "scenarios/asked/kernels.h"
#include "scenarios/asked/model.h"
#include "scenarios/asked/run.h"
#include "scenarios/asked/serving.h"
#include "scenarios/inference/engine-collectives.h"
#include "scenarios/inference/kernels-engine.h"
#include "scenarios/inference/options/served-model.h"
#include "scenarios/inference/options/serving-options.h"
#include "scenarios/inference/quantization.h"
#include "scenarios/network/parse-detail.h"

namespace scenario
{

namespace
{

std::vector<NamedItem>
FormatItems()
{
    std::vector<NamedItem> items = {{"none", "as --dtype"}};
    for (const serving::Quantization& format : serving::Quantizations())
    {
        items.push_back({format.name, format.help});
    }
    return items;
}

std::vector<NamedItem>
CollectiveItems()
{
    return {{"auto", "engine, but of frameworks before 2024 nccl"},
            {"engine", "the engine's own kernels for few bytes, in a CUDA graph without launches"},
            {"nccl", "the library's, with a launch each"}};
}

} // namespace

std::vector<Option>
KernelRows()
{
    const Section section{"/serving", "Serving"};
    const Section tokens = section.Only(when::Tokens());
    return {
        tokens
            .Name("quantization",
                  "weights of fewer bits than --dtype, which products still compute with")
            .As(&asked::Kernels::quantization)
            .Names("format of weights", FormatItems)
            .Default("none")
            .Example("int4"),
        tokens.Name("allreduce", "all-reduces of a tensor parallel group in a server")
            .As(&asked::Kernels::allReduce)
            .Names("kind of all-reduce", CollectiveItems())
            .Default("auto")
            .Example("nccl"),
        tokens.Name("expert-exchange", "dispatch and combine of experts in a server")
            .As(&asked::Kernels::expertExchange)
            .Names("kind of exchange", CollectiveItems())
            .Default("auto")
            .Example("nccl")
            .Only(when::With("ep")),
        tokens
            .Name("peer-access",
                  "GPUs of a server read each other's memory; without, the engine's all-reduces go "
                  "through host memory; of --allreduce=nccl a server's links say it")
            .As(&asked::Kernels::peerAccess)
            .Names("peer access",
                   {{"auto", "yes, but of GeForce cards no"}, {"1", "yes"}, {"0", "no"}})
            .Default("auto")
            .Example("0"),
        section
            .File("kernel-times",
                  "measured kernels: columns kind, gpu, library, dtype, m, n, k, batch, "
                  "query_tokens, kv_tokens, ..., time_us; prints the times that iterations have "
                  "beside them, and ends")
            .As(&asked::Kernels::kernelTimes)
            .Shows("FILE.csv")
            .Otherwise("none"),
    };
}

void
ReadKernels(Validation* v, ServingScenario* s)
{
    const Values& values = v->values;
    const auto format = serving::FindQuantization(values.Get(&asked::Kernels::quantization));
    s->quantization = format.value_or(serving::Quantization());
    const double inputs = WeightBytes(s->dtype);
    if (format && format->weightBytes >= inputs)
    {
        v->Fail(&asked::Kernels::quantization,
                "has weights of " + std::to_string(format->weightBytes).substr(0, 5) +
                    " bytes, no fewer than --dtype=" + s->dtypeName + "; allowed: none, or " +
                    "another --dtype");
    }
    if (format && format->expertsAlone && ExpertsOf(s->model) == 0)
    {
        v->Fail(&asked::Kernels::quantization,
                "is of experts alone, which " + s->model.name + " does not have; allowed: int4, " +
                    "nvfp4-weights, fp8-weights");
    }
    const bool isOld = serving::LibraryOf(s->framework.name).empty();
    const auto engine = [isOld](const std::string& kind) {
        return kind == "engine" || (kind == "auto" && !isOld);
    };
    const bool alone = !values.Given(&asked::Degrees::tp) || values.Get(&asked::Degrees::tp) == 1;
    const auto idle = [&](auto member, bool is, const char* why) {
        if (is && values.Given(member))
        {
            v->notes.push_back(values.Where(member) + ": has no effect without " + why);
        }
    };
    idle(&asked::Kernels::allReduce,
         alone && !values.Given(&asked::Serving::split),
         "--tp above 1");
    idle(&asked::Kernels::peerAccess,
         alone && !values.Given(&asked::Serving::split),
         "--tp above 1");
    idle(&asked::Kernels::expertExchange, !values.Given(&asked::Degrees::ep), "--ep");
    if (values.Given(&asked::Kernels::peerAccess) &&
        values.Get(&asked::Kernels::allReduce) == "nccl")
    {
        v->notes.push_back(values.Where(&asked::Kernels::peerAccess) +
                           ": is of the engine's all-reduces; of --allreduce=nccl the server's "
                           "links say it");
    }
    s->engineReduces = engine(values.Get(&asked::Kernels::allReduce));
    s->engineExchanges = engine(values.Get(&asked::Kernels::expertExchange));
    const std::string& peers = values.Get(&asked::Kernels::peerAccess);
    s->peerAccess = peers == "auto" ? serving::HasPeers(s->gpu) : peers == "1";
}

bool
AsksForKernels(const Values& values)
{
    return values.Given(&asked::Kernels::kernelTimes);
}

KernelResult
ValidateKernels(const ReadResult& read)
{
    KernelResult result;
    result.errors = read.errors;
    if (!result.errors.empty())
    {
        return result;
    }
    KernelComparison& found = result.scenario;
    found.values = read.values;
    std::string problem;
    found.kernels =
        serving::ReadMeasuredKernels(read.values.Get(&asked::Kernels::kernelTimes), &problem);
    if (!problem.empty())
    {
        const Member option = &asked::Kernels::kernelTimes;
        result.errors.push_back({read.values.Where(option), read.values.Raw(option), problem, ""});
    }
    found.run.dryRun = read.values.Get(&asked::Run::dryRun);
    std::vector<std::string> except = {"out"};
    for (const Option& option : ServingOptionTable().options)
    {
        if (!read.values.Given(option.name))
        {
            except.push_back(option.name);
        }
    }
    found.run.asRun = ToJson(ServingOptionTable(), read.values, except);
    found.run.asRun["given"] = GivenOf(ServingOptionTable(), read.values, except);
    return result;
}

} // namespace scenario
