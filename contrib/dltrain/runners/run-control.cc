/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "run-control.h"

#include "contrib/dltrain/base/console.h"
#include "contrib/dltrain/base/last-resort.h"
#include "contrib/dltrain/observers/stuck-report.h"
#include "contrib/dltrain/observers/trace-collector.h"
#include "contrib/dltrain/ranks/ranks.h"
#include "contrib/rdma/core/shown-text.h"
#include "reports/base/output-errors.h"
#include "scenarios/launch/interruption.h"
#include "scenarios/options/format.h"

#include "ns3/node-window-ranks.h"
#include "ns3/node-windows.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <unistd.h>

namespace dltrain
{

namespace
{

using Clock = std::chrono::steady_clock;

/// The begin of a note to other ranks that this one has done its work; a time follows. No failure
/// begins so.
constexpr char DONE_NOTE = '\1';

/// Words to all ranks: is anything moving, at that time? When this rank saw that last.
constexpr char ASK = '?';
constexpr char ANSWER = '!';

double
Seconds(Clock::duration d)
{
    return std::chrono::duration<double>(d).count();
}

constexpr auto POLL = std::chrono::milliseconds(50);
constexpr auto TERMINAL_EVERY = std::chrono::milliseconds(500);
constexpr auto PLAIN_EVERY = std::chrono::seconds(10);
constexpr auto SHARE_EVERY = std::chrono::milliseconds(200);

std::string
StuckText(int64_t ps)
{
    char text[64];
    std::snprintf(text, sizeof(text), "%.6g s", static_cast<double>(ps) * 1e-12);
    return std::string(ps == RunControl::STUCK_PS ? "a second" : text) + " of simulated time";
}

void
AddThreads(reports::RunOutcome& outcome)
{
    if (const ns3::NodeWindows* windows = ns3::NodeWindows::Active())
    {
        outcome.threads = windows->GetThreadsUsed();
        outcome.parallelShare = windows->GetParallelShare();
        outcome.moreThreads = windows->GetThreads() > 1;
        outcome.threadsRefused = windows->WereThreadsRefused();
        outcome.oneUnit = windows->GetUnits() == 1;
        outcome.turns = windows->GetSides() > 1;
    }
}

} // namespace

RunControl::RunControl(const scenario::RunOptions& run)
    : m_progress(run.progress && Ranks::Get().IsFirst()),
      m_watched(Ranks::Get().Several() && run.engine != "windows"),
      m_start(Clock::now())
{
    scenario::KeepInterruptionOfRun();
    m_thread = std::thread(&RunControl::ThreadMain, this);
}

RunControl::~RunControl()
{
    {
        std::lock_guard<std::mutex> lock(m_mutex);
        m_quit = true;
    }
    m_wake.notify_all();
    m_thread.join();
}

// In the simulation's thread ---------------------------------------------------------------------

int64_t
RunControl::StuckPs(const ns3::RdmaFabric& fabric)
{
    constexpr double LARGEST_FRAME = 4096 + 128; // data bytes and headers on the wire
    double longest = 0;
    for (const auto& port : fabric.GetPorts())
    {
        longest = std::max(longest,
                           LARGEST_FRAME * 8e12 / static_cast<double>(port->GetRate()) +
                               static_cast<double>(port->GetDelayPs()));
    }
    return static_cast<int64_t>(std::clamp(16 * longest, static_cast<double>(STUCK_PS), 4e18));
}

void
RunControl::Watch(TraceCollector& collector)
{
    m_collector = &collector;
    m_stuckPs = StuckPs(collector.GetFabric()) + m_endures;
    m_quietPs = 0;
    m_lastMove = 0;
    m_askedAt = -1;
    m_lastSight = 0;
    m_lastMoved = 0;
    collector.GetLinkSampler().SetObserver(
        [this](const LinkSampler::Sight& sight) { OnSight(sight); });
    m_ranksDone = 0;
    m_lastDone = 0;
    m_wordTakes = 0;
    for (const auto& gateway : collector.GetFabric().GetGateways())
    {
        gateway->SetNoteCallback([this](const std::string& note) { OnNote(note); });
        m_wordTakes = std::max(m_wordTakes, gateway->GetLookAhead().lookAheadPs);
    }
    m_wordTakes = Ranks::Get().Max(m_wordTakes); // so that all decide alike
}

void
RunControl::SetJobSight(std::function<JobSight()> sight)
{
    m_jobSight = std::move(sight);
    m_jobSeen = 0;
    m_jobQuietSince = 0;
    m_jobMoved = 0;
}

void
RunControl::SetPortion(double portion)
{
    m_portion = portion;
}

void
RunControl::SetMerge(std::function<void()> merge)
{
    m_merge = std::move(merge);
}

void
RunControl::SetFinish(std::function<int(const reports::RunOutcome&)> finish)
{
    m_finish = std::move(finish);
}

void
RunControl::SetProgress(std::function<double()> share)
{
    m_share = std::move(share);
}

void
RunControl::SetPhase(const std::string& phase)
{
    std::lock_guard<std::mutex> lock(m_mutex);
    m_phase = phase;
}

void
RunControl::OnSight(const LinkSampler::Sight& sight)
{
    m_now.store(sight.now, std::memory_order_relaxed);
    m_frames.store(sight.frames, std::memory_order_relaxed);
    reports::LineLog::FlushStale();
    const Clock::time_point now = Clock::now();
    if (m_share && now - m_shareAsked >= SHARE_EVERY) // it may cost something
    {
        m_shareAsked = now;
        m_done.store(std::clamp(m_portion > 0 ? m_share() / m_portion : 0.0, 0.0, 1.0),
                     std::memory_order_relaxed);
        if (m_collector->HasPackets())
        {
            const ns3::RdmaNicCounters nics = m_collector->GetFabric().GetNicTotals();
            m_timeouts.store(nics.timeouts, std::memory_order_relaxed);
            m_answered.store(nics.acksSent + nics.naksSent + nics.messagesReceived,
                             std::memory_order_relaxed);
        }
    }
    if (m_watched && scenario::Interruption() != 0)
    {
        TellOtherRanks("");
        ns3::Simulator::Stop();
        return;
    }
    if (m_jobSight)
    {
        LookAtJob(sight.now);
    }
    // Only time in which the sampler was awake counts: while it slept, nothing was to be sent.
    const int64_t interval = m_collector->GetLinkSampler().GetTable().GetInterval();
    const bool moves = sight.moved != m_lastMoved || m_collector->GetOutstanding() == 0 ||
                       !m_collector->HasPackets();
    m_quietPs = moves ? 0 : m_quietPs + std::min(interval, sight.now - m_lastSight);
    m_lastMove = sight.moved != m_lastMoved ? sight.now : m_lastMove;
    m_lastSight = sight.now;
    m_lastMoved = sight.moved;
    if (m_quietPs < m_stuckPs)
    {
        return;
    }
    ns3::NodeWindowRanks* ranks = Ranks::OfWindows();
    if (!ranks)
    {
        FailAsStuck();
        return;
    }
    ranks->Say(ASK + std::to_string(sight.now)); // others may see something move
}

void
RunControl::LookAtJob(int64_t now)
{
    // All queue pairs are looked at: seldom.
    if (now - m_jobSeen < m_stuckPs / 8)
    {
        return;
    }
    m_jobSeen = now;
    const JobSight sight = m_jobSight();
    // Lost packets are sent again after a time-out, or their queue pair fails: wait for that.
    if (sight.moved != m_jobMoved || !(sight.waits ? sight.held : !sight.goesOn))
    {
        m_jobMoved = sight.moved;
        m_jobQuietSince = now;
    }
    else if (now - m_jobQuietSince >= m_stuckPs)
    {
        Fail("stuck: beside the background, no data frame has been sent for " +
             StuckText(m_stuckPs));
    }
}

void
RunControl::FailAsStuck()
{
    Fail("stuck: no data frame has been sent for " + StuckText(m_stuckPs));
}

bool
RunControl::OnWord(const std::string& word)
{
    if (word[0] != ASK && word[0] != ANSWER)
    {
        return false;
    }
    const int64_t time = std::stoll(word.substr(1));
    if (word[0] == ASK && time != m_askedAt)
    {
        m_askedAt = time;
        m_lastMoveOfAll = 0;
        m_answers = 0;
        Ranks::OfWindows()->Say(ANSWER + std::to_string(m_lastMove));
    }
    else if (word[0] == ANSWER)
    {
        m_lastMoveOfAll = std::max(m_lastMoveOfAll, time);
        if (++m_answers == Ranks::Get().Size() && m_askedAt - m_lastMoveOfAll >= m_stuckPs)
        {
            FailAsStuck(); // in all ranks
        }
    }
    return true;
}

void
RunControl::End()
{
    ns3::Simulator::Stop();
}

void
RunControl::EndWithOthers(int64_t delayPs)
{
    const int64_t now = ns3::RdmaClock::Now();
    m_endDelay = delayPs;
    for (const auto& gateway : m_collector->GetFabric().GetGateways())
    {
        gateway->SendNote(DONE_NOTE + std::to_string(now));
    }
    OnRankDone(now);
}

void
RunControl::OnRankDone(int64_t at)
{
    m_lastDone = std::max(m_lastDone, at);
    if (++m_ranksDone == Ranks::Get().Size() && m_wordTakes <= m_endDelay)
    {
        ns3::Simulator::ScheduleWithContext(ns3::Simulator::NO_CONTEXT,
                                            ns3::RdmaClock::At(m_lastDone + m_endDelay) -
                                                ns3::Simulator::Now(),
                                            [this] { End(); });
    }
}

void
RunControl::EndAt(int64_t ps)
{
    ns3::Simulator::Stop(ns3::PicoSeconds(static_cast<uint64_t>(ps)));
}

void
RunControl::Fail(const std::string& why)
{
    if (m_failure.empty())
    {
        m_failure = why;
    }
    TellOtherRanks(m_failure);
    ns3::Simulator::Stop();
}

void
RunControl::TellOtherRanks(const std::string& note)
{
    if (!m_collector || m_told || ns3::NodeWindows::Active())
    {
        return; // node windows stop together
    }
    m_told = true;
    for (const auto& gateway : m_collector->GetFabric().GetGateways())
    {
        gateway->SendNote(note);
    }
}

void
RunControl::OnNote(const std::string& note)
{
    if (!note.empty() && note[0] == DONE_NOTE)
    {
        OnRankDone(std::stoll(note.substr(1)));
        return;
    }
    if (m_failure.empty())
    {
        m_failure = note;
    }
    m_told = true; // by that rank
    ns3::Simulator::Stop();
}

int
RunControl::SignalOfRanks()
{
    const int signal =
        static_cast<int>(Ranks::Get().Max(static_cast<int64_t>(scenario::Interruption())));
    if (signal != 0)
    {
        scenario::TakeInterruption(signal);
    }
    return signal;
}

void
RunControl::MergeRanks()
{
    m_failure = Ranks::Get().FirstText(m_failure);
    if (m_merge)
    {
        m_merge();
    }
}

reports::RunOutcome
RunControl::Broken(const std::string& why)
{
    reports::RunOutcome outcome;
    const double loop = Seconds(Clock::now() - m_runStart);
    outcome.exitStatus = 1;
    outcome.message = why;
    outcome.simulatedPs = ns3::RdmaClock::Now();
    outcome.events = ns3::Simulator::GetEventCount();
    outcome.eventLoopS = m_eventLoopS + loop;
    outcome.wallS = Seconds(Clock::now() - m_start);
    outcome.shareDone = m_done.load();
    AddThreads(outcome);
    return outcome;
}

reports::RunOutcome
RunControl::Run(const std::function<bool()>& finished,
                const std::function<std::string()>& unfinished)
{
    const Clock::time_point begin = Clock::now();
    {
        std::lock_guard<std::mutex> lock(m_mutex);
        m_runStart = begin;
    }
    scenario::EventsBegin();
    m_running = true;
    std::string broken;
    {
        // With several ranks, none can complete the results alone.
        const bool alone = !Ranks::Get().Several();
        const LastResort lastResort([this, alone](const std::string& why) {
            m_running = false;
            if (alone && m_finish)
            {
                return m_finish(Broken(why));
            }
            SayNote("error: " + why);
            return 1;
        });
        try
        {
            // A run may be shorter than the thread's next look at the signal.
            if (SignalOfRanks() == 0)
            {
                ns3::Simulator::Run();
            }
        }
        catch (const std::exception& error)
        {
            if (!alone)
            {
                throw;
            }
            broken = reports::ReasonOf(error);
        }
    }
    m_running = false;
    const Clock::time_point end = Clock::now();
    {
        std::lock_guard<std::mutex> lock(m_mutex);
        m_eventLoopS += Seconds(end - begin);
        ClearProgress();
    }

    if (!broken.empty())
    {
        reports::RunOutcome outcome = Broken(broken);
        outcome.eventLoopS = m_eventLoopS;
        return outcome;
    }
    const Ranks& ranks = Ranks::Get();
    if (ranks.Several())
    {
        MergeRanks();
    }
    const int signal = SignalOfRanks(); // once: another may come on one of them
    reports::RunOutcome outcome;
    outcome.simulatedPs = ranks.Max(ns3::RdmaClock::Now());
    outcome.events = ranks.Sum(ns3::Simulator::GetEventCount());
    outcome.eventLoopS = ranks.Max(m_eventLoopS);
    outcome.wallS = Seconds(end - m_start);
    AddThreads(outcome);
    outcome.completed = m_failure.empty() && finished() && signal == 0;
    outcome.shareDone = outcome.completed ? 1
                        : m_share         ? std::clamp(ranks.Sum(m_share()), 0.0, 1.0)
                                          : 0;
    if (outcome.completed)
    {
        return outcome;
    }
    if (m_failure.empty() && signal != 0)
    {
        outcome.interrupted = true;
        outcome.exitStatus = 128 + signal;
        outcome.message = signal == SIGINT ? "interrupted by Ctrl-C" : "interrupted by a signal";
        return outcome;
    }
    outcome.exitStatus = 3;
    outcome.message =
        m_failure.empty() ? "the simulation came to its end with work left" : m_failure;
    if (unfinished)
    {
        const std::string what = unfinished();
        outcome.message += what.empty() ? "" : "\n" + what;
    }
    if (m_collector)
    {
        const std::string stuck = DescribeStuck(*m_collector);
        outcome.message += stuck.empty() ? "" : "\n" + stuck;
    }
    return outcome;
}

// In the thread ----------------------------------------------------------------------------------

void
RunControl::ThreadMain()
{
    const bool terminal = isatty(STDERR_FILENO);
    Clock::time_point next = m_start + (terminal ? Clock::duration(TERMINAL_EVERY) : PLAIN_EVERY);
    bool stopSent = false;
    std::unique_lock<std::mutex> lock(m_mutex);
    while (!m_wake.wait_for(lock, POLL, [this] { return m_quit; }))
    {
        if (scenario::Interruption() != 0 && m_running && !stopSent)
        {
            stopSent = true;
            if (m_watched)
            {
                continue; // no other thread may touch that simulator: OnSight looks at the signal
            }
            // The one call of ns-3 that another thread may make.
            ns3::Simulator::ScheduleWithContext(0xffffffff,
                                                ns3::Time(0),
                                                static_cast<void (*)()>(&ns3::Simulator::Stop));
        }
        if (m_progress && m_running && !stopSent && Clock::now() >= next)
        {
            PrintProgress();
            next = Clock::now() + (terminal ? Clock::duration(TERMINAL_EVERY) : PLAIN_EVERY);
        }
    }
}

std::string
RunControl::OnlyTimeouts()
{
    const uint64_t timeouts = m_timeouts.load(std::memory_order_relaxed);
    const uint64_t answered = m_answered.load(std::memory_order_relaxed);
    const double done = m_done.load(std::memory_order_relaxed);
    const uint64_t more = timeouts - m_timeoutsShown;
    const bool only = more > 0 && answered == m_answersShown && done <= m_doneShown;
    m_timeoutsShown = timeouts;
    m_answersShown = answered;
    m_doneShown = done;
    return only ? "; since the last line no packet arrived: " + std::to_string(more) +
                      (more == 1 ? " time-out" : " time-outs")
                : "";
}

void
RunControl::PrintProgress()
{
    const double elapsed = Seconds(Clock::now() - m_runStart);
    const double done = m_done.load(std::memory_order_relaxed);
    const uint64_t frames = m_frames.load(std::memory_order_relaxed);
    char rate[48] = "";
    if (!m_collector || m_collector->HasPackets())
    {
        const double loop = m_eventLoopS + elapsed;
        std::snprintf(rate,
                      sizeof(rate),
                      "%.2f M frame-hops/s, ",
                      loop > 0 ? static_cast<double>(frames) / loop / 1e6 : 0);
    }
    char text[256];
    std::snprintf(
        text,
        sizeof(text),
        "%s%.6g ms simulated, %5.1f%% done, %s%s",
        m_phase.empty() ? "" : (rdma::Shown(m_phase, 60) + ": ").c_str(),
        static_cast<double>(m_now.load(std::memory_order_relaxed) / 1000000) / 1000,
        done * 100,
        rate,
        done > 0.001
            ? ("ETA " + scenario::ClockText((m_eventLoopS + elapsed) * (1 / done - 1))).c_str()
            : "ETA unknown");
    ShowProgress(text + OnlyTimeouts());
}

} // namespace dltrain
