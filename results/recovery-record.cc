/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "results/recovery-record.h"

#include "results/human-text.h"

#include <algorithm>
#include <numeric>

namespace results
{

namespace
{

nlohmann::ordered_json
UsOrNull(int64_t ps)
{
    return ps < 0 ? nlohmann::ordered_json(nullptr)
                  : nlohmann::ordered_json(static_cast<double>(ps) / 1e6);
}

nlohmann::ordered_json
UsOfEach(const std::vector<int64_t>& times)
{
    auto list = nlohmann::ordered_json::array();
    for (const int64_t time : times)
    {
        list.push_back(UsOrNull(time));
    }
    return list;
}

nlohmann::ordered_json
TextOrNull(const std::string& text)
{
    return text.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(text);
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

nlohmann::ordered_json
ToJson(const RecoveryRecord& r)
{
    return {{"failed_us", UsOrNull(r.failed)},
            {"known_us", UsOrNull(r.known)},
            {"known_by", r.by},
            {"what", r.what},
            {"action", TextOrNull(r.action)},
            {"not_rebuilt_because", TextOrNull(r.notRebuilt)},
            {"servers_failed", r.servers},
            {"gpus_failed", r.gpus},
            {"nics_lost", r.nics},
            {"spares_taken", r.spares},
            {"ranks_left", r.left},
            {"cut_off", ToJson(r.cutOff)},
            {"from_step", r.fromStep},
            {"goes_on_with", TextOrNull(r.nameOfStep)},
            {"steps_lost", r.lostSteps},
            {"collectives_repeated", r.repeated},
            {"messages_repeated", r.repeatedMessages},
            {"lost_us", UsOrNull(r.lostPs)},
            {"abort_us", UsOrNull(r.abortPs)},
            {"restart_us", UsOrNull(r.restartPs)},
            {"read_us", UsOrNull(r.readPs)},
            {"resumed_us", UsOrNull(r.resumed)},
            {"recomputed_us", UsOrNull(r.recomputed)}};
}

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

nlohmann::ordered_json
ToJson(const RecoveryResults& r)
{
    nlohmann::ordered_json j;
    j["policy"] = r.policy;
    j["watchdog_us"] = r.watchdogPs ? UsOrNull(r.watchdogPs) : nlohmann::ordered_json();
    j["queue_pair_gives_up_us"] = UsOrNull(r.queuePairPs);
    j["checkpoint_every"] = r.checkpointEvery;
    j["checkpoint_bytes"] = r.checkpointBytes;
    j["checkpoint_bytes_of_server"] = r.writtenBytes;
    j["checkpoint_read_bytes_of_server"] = r.readBytes;
    j["checkpoint_servers"] = r.storage;
    j["checkpoint_time_us"] = r.storage ? nlohmann::ordered_json() : UsOrNull(r.writePs);
    j["checkpoint_read_time_us"] = r.storage ? nlohmann::ordered_json() : UsOrNull(r.readPs);
    j["checkpoint_async"] = r.writesBehind;
    j["checkpoint_copy_time_us"] = r.writesBehind ? UsOrNull(r.copyPs) : nlohmann::ordered_json();
    j["checkpoints_begun"] = r.checkpointsBegun;
    j["checkpoints"] = r.checkpoints;
    j["checkpoints_written_us"] = UsOfEach(r.written);
    j["checkpoints_took_us"] = UsOfEach(r.took);
    j["checkpoints_held_from_us"] = UsOfEach(r.heldFrom);
    j["checkpoints_held_until_us"] = UsOfEach(r.heldUntil);
    j["ranks"] = r.ranks;
    j["elapsed_us"] = UsOrNull(r.ElapsedPs());
    j["useful_us"] = UsOrNull(r.usefulPs);
    j["checkpoint_us"] = UsOrNull(r.writingPs);
    j["lost_us"] = UsOrNull(r.lostPs);
    j["recovering_us"] = UsOrNull(r.recoveringPs);
    j["goodput"] = r.Goodput();
    j["gave_up"] = TextOrNull(r.gaveUp);
    j["failures"] = nlohmann::ordered_json::array();
    for (const RecoveryRecord& failure : r.failures)
    {
        j["failures"].push_back(ToJson(failure));
    }
    return j;
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

} // namespace results
