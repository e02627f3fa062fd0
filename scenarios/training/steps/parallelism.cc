/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/steps/parallelism.h"

#include "scenarios/training/steps/layout.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace training
{

namespace
{

/// Data parallelism wins wherever it stands in a name: "edp" and "dp-cp" sum gradients.
constexpr std::pair<std::string_view, Parallelism> kWordsOfGroups[] = {
    {"dp", Parallelism::kData},
    {"edp", Parallelism::kData},
    {"ddp", Parallelism::kData},
    {"fsdp", Parallelism::kData},
    {"hsdp", Parallelism::kData},
    {"data", Parallelism::kData},
    {"replicate", Parallelism::kData},
    {"shard", Parallelism::kData},
    {"tp", Parallelism::kTensor},
    {"tensor", Parallelism::kTensor},
    {"etp", Parallelism::kTensor},
    {"mp", Parallelism::kTensor},
    {"model", Parallelism::kTensor},
    {"cp", Parallelism::kContext},
    {"context", Parallelism::kContext},
    {"ep", Parallelism::kExpert},
    {"expert", Parallelism::kExpert},
    {"pp", Parallelism::kPipeline},
    {"pipe", Parallelism::kPipeline},
    {"pipeline", Parallelism::kPipeline},
    {"embedding", Parallelism::kPipeline},
};

bool
IsLetter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

char
LowerOf(char c)
{
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// \return what the words of a group's name say, or nothing
std::optional<Parallelism>
InName(std::string_view name)
{
    std::optional<Parallelism> found;
    while (!name.empty())
    {
        const auto end = std::find_if_not(name.begin(), name.end(), IsLetter);
        std::string word(name.begin(), end);
        std::transform(word.begin(), word.end(), word.begin(), LowerOf);
        for (const auto& [known, parallelism] : kWordsOfGroups)
        {
            if (known == word && (!found || parallelism == Parallelism::kData))
            {
                found = parallelism;
            }
        }
        name.remove_prefix(std::min(name.size(), word.size() + 1));
    }
    return found;
}

} // namespace

const char*
ParallelismName(Parallelism parallelism)
{
    constexpr const char* kNames[kParallelisms] = {"tp", "cp", "ep", "pp", "dp", "other"};
    return kNames[static_cast<std::size_t>(parallelism)];
}

const char*
ParallelismWord(Parallelism parallelism)
{
    constexpr const char* kWords[kParallelisms] = {"TP", "CP", "EP", "PP", "DP", "other"};
    return kWords[static_cast<std::size_t>(parallelism)];
}

Parallelism
ParallelismOf(const GroupKind& kind, const Task& task)
{
    if (const auto named = InName(kind.name))
    {
        return *named;
    }
    // Messages between replicated stages of a pipeline, which are in a group of all ranks.
    if (kind.name == GroupName(GroupOf::kReplica) && IsMessage(task))
    {
        return Parallelism::kPipeline;
    }
    const bool ofParameters = task.phase == Phase::kGradient || task.phase == Phase::kParameter;
    return ofParameters ? Parallelism::kData : Parallelism::kOther;
}

} // namespace training
