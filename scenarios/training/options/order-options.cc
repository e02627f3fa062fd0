/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/options/order-options.h"

#include "scenarios/asked/modes.h"
#include "scenarios/asked/training.h"
#include "topologies/names.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>

namespace scenario
{

namespace
{

/// Smaller chunks take longer to begin than to send: a ring's two times (n - 1) steps of some
/// microseconds each. Assumed.
constexpr uint64_t kLeastChunk = 64 << 10;

/// A part of a study: the values of one option.
struct StudiedOption
{
    const char* name;
    std::vector<std::pair<const char*, nlohmann::json>> values; ///< as shown, and as in JSON
};

/// Orders are all that there are. ByteScheduler's chunks are of 1,000,000 parameters by default and
/// its credit is of 4 chunks; with all-reduce it proposes 8,000,000 and 2 chunks
/// (bytedance/byteps@bc1f257 bytescheduler/docs/priority-scheduling.md), in 32 bits 4 MB and 32 MB.
const std::vector<StudiedOption>&
StudiedOptions()
{
    static const std::vector<StudiedOption> options = {
        {"collective-order", {{"fifo", "fifo"}, {"lifo", "lifo"}, {"priority", "priority"}}},
        {"collective-chunk",
         {{"whole", nullptr}, {"32MB", "32MB"}, {"4MB", "4MB"}, {"1MB", "1MB"}}},
        {"in-flight", {{"1", 1}, {"2", 2}, {"4", 4}}}};
    return options;
}

std::string
KeyOf(std::string name)
{
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
}

} // namespace

std::vector<Option>
OrderOptionRows()
{
    const Section section = Section{"/training", "Order of collectives"}.Only(when::Collectives());
    return {
        section
            .Name("collective-order",
                  "which reduction of gradients, or gather of parameters behind the optimizer, "
                  "goes first of those that are ready")
            .As(&asked::Training::collectiveOrder)
            .Names("order of collectives",
                   {{"fifo", "as backward makes them, the last layer first (DDP, Horovod)"},
                    {"lifo", "what became ready last"},
                    {"priority",
                     "what the next forward needs first; with --collective-chunk P3, and with "
                     "--in-flight ByteScheduler"}})
            .Otherwise("fifo")
            .Example("priority")
            .IdleUnless(when::Job(job::kReplicas))
            .To(&training::TrainingOptions::order, training::ParseCollectiveOrder),
        section
            .Bytes("collective-chunk",
                   "each of these collectives goes in equal chunks of at most so many bytes, so "
                   "that an urgent one waits for a chunk only")
            .As(&asked::Training::collectiveChunk)
            .Otherwise("whole buckets")
            .Range(kLeastChunk, 1e15)
            .Example("4MiB")
            .IdleUnless(when::Job(job::kReplicas)),
        section
            .Integer("in-flight",
                     "chunks, or whole collectives, that a group of GPUs has under way at once "
                     "(ByteScheduler's credit)")
            .As(&asked::Training::inFlight)
            .Otherwise("1")
            .Range(1, 64)
            .Example("2")
            .IdleUnless(when::Job(job::kReplicas))
            .To(&training::TrainingOptions::inFlight),
        section
            .Flag("overlap-next-forward",
                  "a layer's forward in the next step waits for the gradients of that layer, not "
                  "for all; sets --zero=0")
            .As(&asked::Training::overlapNextForward)
            .Otherwise("0")
            .Example("1")
            .To(&training::TrainingOptions::overlapNextForward),
        Section{"/training", "Order of collectives"}
            .List("service-levels",
                  "priorities of packets by kind of group, with shares by --ets: dp, tp, pp, cp, "
                  "ep, or another one that this job has")
            .As(&asked::Training::serviceLevels)
            .Shows("GROUP:P,...")
            .Otherwise("3 for all")
            .Example("dp:1")
            .Only(when::Packets())
            .Only(when::Ethernet())
            .Only(when::OneJob()),
        section
            .List("study",
                  "run all combinations of these options and print a table, the fastest first: "
                  "collective-order, collective-chunk (whole, 32MB, 4MB, 1MB), in-flight (1, 2, "
                  "4)")
            .As(&asked::Training::study)
            .Shows("OPTION,...")
            .Distinct()
            .Otherwise("none")
            .Example("collective-order,in-flight"),
    };
}

bool
OverlapsNextForward(const Values& values)
{
    return values.Given(&asked::Training::overlapNextForward) &&
           values.Get(&asked::Training::overlapNextForward);
}

void
MakeOrder(Validation* v, training::TrainingOptions* o)
{
    const Values& values = v->values;
    if (values.Given(&asked::Training::collectiveChunk))
    {
        o->chunkBytes = values.Get(&asked::Training::collectiveChunk).value;
    }
    if (o->order != training::CollectiveOrder::kFifo && !o->overlapNextForward)
    {
        v->notes.push_back("--collective-order=" + training::CollectiveOrderName(o->order) +
                           ": the next forward waits for all gradients, so that their order "
                           "changes almost nothing; --overlap-next-forward lets each layer wait "
                           "for its own");
    }
}

void
SetServiceLevels(Validation* v, training::TrainingPlan* plan)
{
    if (!v->values.Given(&asked::Training::serviceLevels))
    {
        return;
    }
    if (v->seat)
    {
        v->Fail(&asked::Training::serviceLevels,
                "is of a job by itself; allowed: without --jobs, or the job's own priority");
        return;
    }
    std::vector<std::string> names;
    for (const training::GroupKind& kind : plan->groupKinds)
    {
        names.push_back(kind.name);
    }
    std::set<std::string> set;
    for (const std::string& word : v->values.Get(&asked::Training::serviceLevels))
    {
        const std::string name = word.substr(0, word.find(':'));
        const auto found = std::find(names.begin(), names.end(), name);
        if (found == names.end())
        {
            v->Fail(&asked::Training::serviceLevels,
                    "has '" + word + "', and the groups of this job are " + topo::JoinNames(names) +
                        topo::DidYouMean(name, names));
            return;
        }
        if (!set.insert(name).second)
        {
            v->Fail(&asked::Training::serviceLevels, "has two priorities of " + name);
            return;
        }
        const std::string level = word.substr(std::min(word.size(), name.size() + 1));
        if (level.size() != 1 || level[0] < '0' || level[0] > '7')
        {
            v->Fail(&asked::Training::serviceLevels,
                    "has '" + word + "'; allowed: GROUP:P with a priority from 0 to 7");
            return;
        }
        plan->groupKinds[static_cast<std::size_t>(found - names.begin())].priority =
            static_cast<uint8_t>(level[0] - '0');
    }
    v->Settle(when::SeveralPriorities(),
              std::any_of(plan->groupKinds.begin(), plan->groupKinds.end(), [&](const auto& kind) {
                  return kind.priority != plan->groupKinds.front().priority;
              }));
}

uint32_t
LosslessPriorities(const training::TrainingPlan& plan)
{
    uint32_t priorities = 0;
    for (const training::GroupKind& kind : plan.groupKinds)
    {
        priorities |= kind.priority != 3 ? 1U << kind.priority : 0;
    }
    return priorities;
}

Study
MakeStudy(Validation* v, const training::TrainingOptions& o)
{
    Study study;
    if (!v->values.Given(&asked::Training::study))
    {
        return study;
    }
    if (v->seat)
    {
        v->Fail(&asked::Training::study, "is of a job by itself; allowed: without --jobs");
        return study;
    }
    study.by = Spell(&asked::Training::study);
    study.options = v->values.Get(&asked::Training::study);
    study.runs.emplace_back();
    for (const std::string& name : study.options)
    {
        const auto& all = StudiedOptions();
        const auto found = std::find_if(all.begin(), all.end(), [&name](const auto& option) {
            return name == option.name;
        });
        if (found == all.end())
        {
            std::vector<std::string> names;
            for (const StudiedOption& option : all)
            {
                names.emplace_back(option.name);
            }
            v->Fail(&asked::Training::study,
                    "has '" + name + "'; allowed: " + topo::JoinNames(names) +
                        topo::DidYouMean(name, names));
            return {};
        }
        std::vector<StudyRun> longer;
        for (const StudyRun& run : study.runs)
        {
            for (const auto& [shown, value] : found->values)
            {
                StudyRun next = run;
                next.shown.emplace_back(shown);
                next.keys.emplace_back(KeyOf(name), value);
                longer.push_back(std::move(next));
            }
        }
        study.runs = std::move(longer);
    }
    if (!o.overlapNextForward)
    {
        v->notes.push_back("--study: without --overlap-next-forward the order of collectives "
                           "changes almost nothing");
    }
    return study;
}

} // namespace scenario
