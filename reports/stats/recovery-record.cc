/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "reports/stats/recovery-record.h"

#include "reports/base/human-text.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace reports
{

namespace
{

/// A time without 0, which stands for none.
std::optional<int64_t>
IfAny(int64_t ps)
{
    return ps ? std::optional(ps) : std::nullopt;
}

std::string
Join(const std::vector<std::string>& words)
{
    std::string text;
    for (const std::string& word : words)
    {
        text += (text.empty() ? "" : ", ") + word;
    }
    return text;
}

/// A text that is null where it is empty.
template <typename Record>
Key<Record>
TextOrNull(const char* words, std::string Record::*text)
{
    return Key<Record>(words, text).NullUnless([text](const Record& r) {
        return !(r.*text).empty();
    });
}

using Failure = RecoveryRecord;
using Recovery = RecoveryResults;

const Object<Failure>&
FailureKeys()
{
    static const Object<Failure> keys{
        {"failed_us (us): Begin of the responsible fault; null: no fault explains it",
         &Failure::failed},
        {"known_us (us): When all knew", &Failure::known},
        {"known_by: queue pair, watchdog or launcher", &Failure::by},
        {"what: The failure in words", &Failure::what},
        TextOrNull("action: restart, shrink or rebuild; null: the job gave up", &Failure::action),
        TextOrNull(
            "not_rebuilt_because: With --recovery=rebuild: why it is a restart; null: it is none",
            &Failure::notRebuilt),
        {"servers_failed: Hosts that failed, also those where only a GPU failed",
         &Failure::servers},
        {"gpus_failed: GPUs that failed: server-1:gpu-0", &Failure::gpus},
        {"nics_lost: Ports of servers that continue without them", &Failure::nics},
        {"spares_taken: Spare hosts in their place", &Failure::spares},
        {"ranks_left: Ranks that left the job, with their replicas", &Failure::left},
        {"cut_off: Collectives whose messages failed, and the ranks that this cuts off",
         &Failure::cutOff,
         CutOffKeys()},
        {"from_step: Step with which the job continues, from 0, warm-up included",
         &Failure::fromStep},
        TextOrNull("goes_on_with: The same in words: step 2, warm-up step 1", &Failure::nameOfStep),
        {"steps_lost (steps): Steps that had ended and are repeated", &Failure::lostSteps},
        {"collectives_repeated (count): Collectives that were in flight and began again",
         &Failure::repeated},
        {"messages_repeated (count): Messages between stages that were in flight and began again",
         &Failure::repeatedMessages},
        {"lost_us (us): Discarded work", &Failure::lostPs},
        {"abort_us (us): Until all ranks had ended their communication", &Failure::abortPs},
        {"restart_us (us): Start of processes and NCCL", &Failure::restartPs},
        {"read_us (us): Reading the checkpoint", &Failure::readPs},
        {"resumed_us (us): When the ranks began again; null: another failure came first, or the "
         "job gave up",
         &Failure::resumed},
        {"recomputed_us (us): When the lost steps had ended again; null: never",
         &Failure::recomputed}};
    return keys;
}

const Object<Recovery>&
RecoveryKeys()
{
    static const auto byRate = [](const auto& r) { return r.storage == 0; };
    static const Object<Recovery> keys{
        {"policy: What the job does about a failure (--recovery)", &Recovery::policy},
        {"watchdog_us (us): Time in one collective or message after which a rank gives up; null: "
         "no watchdog",
         [](const auto& r) { return IfAny(r.watchdogPs); }},
        {"queue_pair_gives_up_us (us): Until a queue pair without any answer fails",
         &Recovery::queuePairPs},
        {"checkpoint_every (steps): From one checkpoint to the next; 0: none",
         &Recovery::checkpointEvery},
        {"checkpoint_bytes (B): A checkpoint: weights and states of the optimizer",
         &Recovery::checkpointBytes},
        {"checkpoint_bytes_of_server (B): What the server that writes most writes",
         &Recovery::writtenBytes},
        {"checkpoint_read_bytes_of_server (B): What the server that reads most reads after a "
         "restart",
         &Recovery::readBytes},
        {"checkpoint_servers (count): Servers of the network that keep checkpoints; 0: checkpoints "
         "have a rate",
         &Recovery::storage},
        Key<Recovery>("checkpoint_time_us (us): To write a checkpoint; null: the network decides",
                      &Recovery::writePs)
            .NullUnless(byRate),
        Key<Recovery>(
            "checkpoint_read_time_us (us): To read a checkpoint; null: the network decides",
            &Recovery::readPs)
            .NullUnless(byRate),
        {"checkpoint_async: Whether GPUs wait only for a copy, written during the next steps",
         &Recovery::writesBehind},
        Key<Recovery>("checkpoint_copy_time_us (us): Until all GPUs have copied what they write; "
                      "null: no copy",
                      &Recovery::copyPs)
            .NullUnless(&Recovery::writesBehind),
        {"checkpoints_begun (count): Checkpoints begun, those given up included",
         &Recovery::checkpointsBegun},
        {"checkpoints (count): Checkpoints written", &Recovery::checkpoints},
        {"checkpoints_written_us (us): When each was written, the first 1,000", &Recovery::written},
        {"checkpoints_took_us (us): Time to write each of these", &Recovery::took},
        {"checkpoints_held_from_us (us): When GPUs began to wait for a checkpoint, the first 1,000 "
         "waits that ended",
         &Recovery::heldFrom},
        {"checkpoints_held_until_us (us): When each of these waits ended, also by a failure",
         &Recovery::heldUntil},
        {"ranks (count): Ranks of the job at its end", &Recovery::ranks},
        {"elapsed_us (us): Time of the job: useful_us + checkpoint_us + lost_us + recovering_us",
         &Recovery::ElapsedPs},
        {"useful_us (us): Steps that count, warm-up included", &Recovery::usefulPs},
        {"checkpoint_us (us): Waiting for checkpoints to be written, or copied with "
         "--checkpoint-async",
         &Recovery::writingPs},
        {"lost_us (us): Discarded work, or work of a step that did not end", &Recovery::lostPs},
        {"recovering_us (us): From a known failure until the ranks begin again",
         &Recovery::recoveringPs},
        {"goodput (0 to 1): useful_us over elapsed_us", &Recovery::Goodput},
        TextOrNull("gave_up: Why the job did not continue; null: it did", &Recovery::gaveUp),
        {"failures: Failures that the job noticed", &Recovery::failures, FailureKeys()}};
    return keys;
}

/// recovery at the top of stats.json.
const Object<Recovery> RECOVERY{
    {"recovery: With --recovery or --checkpoint-every: cost of failures and checkpoints",
     [](const Recovery& r) -> const Recovery& { return r; },
     RecoveryKeys()}};
const RegisteredKeys g_recovery(Section::kFaults, RECOVERY);

/// One failure in a sentence or two. \param step what people call one
std::string
InWords(const RecoveryRecord& r, const std::string& step)
{
    std::string text = r.failed < 0 ? "" : "failed at " + HumanTimeOfPs(r.failed) + ", ";
    text += "known at " + HumanTimeOfPs(r.known) + " by the " + r.by + ": " + r.what;
    // NICs that are lost are told of below.
    text += r.failed < 0 && r.nics.empty() ? " (no fault explains it)" : "";
    // On a server that works, only its GPU has failed, even if another server takes its place.
    std::vector<std::string> failed = r.gpus;
    for (const std::string& server : r.servers)
    {
        const auto isOfIt = [&server](const std::string& gpu) {
            return gpu.rfind(server + ":", 0) == 0;
        };
        if (std::none_of(r.gpus.begin(), r.gpus.end(), isOfIt))
        {
            failed.push_back(server);
        }
    }
    text += failed.empty() ? "" : "; " + Join(failed) + " failed";
    text += r.spares.empty() ? "" : "; " + Join(r.spares) + " for " + Join(r.servers);
    if (!r.nics.empty())
    {
        text += "; without " + Join(r.nics);
    }
    if (!r.notRebuilt.empty())
    {
        text += "; restart instead of rebuild, as " + r.notRebuilt;
    }
    if (!r.left.empty())
    {
        const std::size_t others = r.left.size() - 1;
        text += "; rank " + std::to_string(r.left.front()) +
                (others == 0   ? " leaves"
                 : others == 1 ? " and another one leave"
                               : " and " + std::to_string(others) + " others leave") +
                " the job";
    }
    if (r.resumed >= 0)
    {
        text += "; goes on at " + HumanTimeOfPs(r.resumed) +
                (r.action == "rebuild" ? " in " : " with ") + r.nameOfStep;
        if (r.action == "rebuild")
        {
            text += ", with " + HumanCount(r.repeated) +
                    (r.repeated == 1 ? " collective" : " collectives");
            if (r.repeatedMessages)
            {
                text += " and " + HumanCount(r.repeatedMessages) +
                        (r.repeatedMessages == 1 ? " message" : " messages");
            }
            text += " anew";
        }
    }
    text += ", " + HumanTimeOfPs(r.lostPs) + " of work lost";
    if (r.lostSteps)
    {
        text += " (" + std::to_string(r.lostSteps) + " " + step + (r.lostSteps == 1 ? "" : "s") +
                " to do again" +
                (r.recomputed >= 0 ? ", done at " + HumanTimeOfPs(r.recomputed) : std::string()) +
                ")";
    }
    return text;
}

} // namespace

double
RecoveryResults::Goodput() const
{
    const int64_t all = ElapsedPs();
    return all > 0 ? static_cast<double>(usefulPs) / static_cast<double>(all) : 0;
}

void
AddTo(nlohmann::ordered_json& stats, const RecoveryResults& results)
{
    RECOVERY.AddTo(stats, results);
}

void
PrintRecovery(std::ostream& os, const RecoveryResults& r)
{
    std::string text = r.policy == "none" ? "none" : r.policy;
    if (r.checkpointEvery)
    {
        text += "; " + HumanCount(r.checkpoints) +
                (r.checkpoints == 1 ? " checkpoint" : " checkpoints") + " of " +
                HumanBytes(static_cast<double>(r.checkpointBytes)) +
                (r.checkpointBytes > r.writtenBytes
                     ? ", at most " + HumanBytes(static_cast<double>(r.writtenBytes)) +
                           " from a server, "
                     : std::string(" from one server, ")) +
                (r.storage == 0 ? HumanTimeOfPs(r.writePs) + " each"
                 : r.took.empty()
                     ? std::string("over the network")
                     : HumanTimeOfPs(std::accumulate(r.took.begin(), r.took.end(), int64_t{0}) /
                                     static_cast<int64_t>(r.took.size())) +
                           " each over the network (mean)");
        text +=
            r.writesBehind ? ", behind the steps; copied before in " + HumanTimeOfPs(r.copyPs) : "";
        if (const uint64_t rest = r.checkpointsBegun - r.checkpoints)
        {
            text += ", " + HumanCount(rest) + " begun and not written";
        }
    }
    text += Format("; goodput %.1f%%: ", 100 * r.Goodput()) + HumanTimeOfPs(r.usefulPs) +
            " useful of " + HumanTimeOfPs(r.ElapsedPs());
    const auto add = [&text](int64_t ps, const char* what) {
        text += ps ? ", " + HumanTimeOfPs(ps) + what : "";
    };
    add(r.writingPs, r.writesBehind ? " waiting for checkpoints" : " writing");
    add(r.lostPs, " lost");
    add(r.recoveringPs, " recovering");
    os << "Recovery         " << Wrapped(text, 17, 3) << "\n";
    for (const RecoveryRecord& failure : r.failures)
    {
        os << "                 " << Wrapped(InWords(failure, r.step), 17, 2) << "\n";
    }
    if (!r.gaveUp.empty())
    {
        os << "                 " << Wrapped("gave up: " + r.gaveUp, 17, 2) << "\n";
    }
}

} // namespace reports
