/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "node-window-thread-pool.h"

#include "node-window-ports.h"

#include <chrono>
#include <csignal>
#include <utility>

namespace ns3
{

namespace
{

/// Longer than windows of unequal shards differ, shorter than a thread's turn on a core: assumed.
constexpr auto PATIENCE = std::chrono::microseconds(40);

void
Relax()
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

} // namespace

void
NodeWindowThreadPool::Bell::Set(uint32_t value)
{
    // Either this one sees the sleeper, or the sleeper sees the value.
    m_value.store(value, std::memory_order_seq_cst);
    if (m_sleepers.load(std::memory_order_seq_cst))
    {
        const std::lock_guard<std::mutex> lock(m_mutex);
        m_wake.notify_all();
    }
}

uint32_t
NodeWindowThreadPool::Bell::AwaitOtherThan(uint32_t value, bool looks)
{
    constexpr int LOOKS = 64;
    std::chrono::steady_clock::time_point end{};
    while (looks)
    {
        for (int i = 0; i < LOOKS; ++i)
        {
            const uint32_t now = Get();
            if (now != value)
            {
                return now;
            }
            Relax();
        }
        const auto time = std::chrono::steady_clock::now();
        if (end == std::chrono::steady_clock::time_point())
        {
            end = time + PATIENCE;
        }
        else if (time > end)
        {
            break;
        }
    }
    std::unique_lock<std::mutex> lock(m_mutex);
    m_sleepers.fetch_add(1, std::memory_order_seq_cst);
    m_wake.wait(lock, [this, value] { return m_value.load(std::memory_order_seq_cst) != value; });
    m_sleepers.fetch_sub(1, std::memory_order_relaxed);
    return Get();
}

NodeWindowThreadPool::NodeWindowThreadPool(uint32_t size, std::function<void(uint32_t who)> work)
    : m_work(std::move(work)),
      m_looks(size <= std::thread::hardware_concurrency())
{
    // Signals are the caller's.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try
    {
        for (uint32_t who = 1; who < size; ++who)
        {
            m_helpers.emplace_back(&NodeWindowThreadPool::Help, this, who);
        }
    }
    catch (...)
    {
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
        Dismiss();
        throw;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

NodeWindowThreadPool::~NodeWindowThreadPool()
{
    Dismiss();
}

void
NodeWindowThreadPool::Dismiss()
{
    m_quit.store(true, std::memory_order_relaxed);
    m_round.Set(m_round.Get() + 1);
    for (std::thread& helper : m_helpers)
    {
        helper.join();
    }
}

void
NodeWindowThreadPool::Work()
{
    const uint32_t round = m_round.Get() + 1;
    m_busy.store(static_cast<uint32_t>(m_helpers.size()), std::memory_order_relaxed);
    m_round.Set(round);
    DoWork(0);
    m_done.AwaitOtherThan(round - 1, m_looks);
    if (m_failure)
    {
        std::rethrow_exception(std::exchange(m_failure, nullptr));
    }
}

void
NodeWindowThreadPool::DoWork(uint32_t who)
{
    try
    {
        m_work(who);
    }
    catch (...)
    {
        const std::lock_guard<std::mutex> lock(m_mutex);
        if (!m_failure)
        {
            m_failure = std::current_exception();
        }
    }
}

void
NodeWindowThreadPool::Help(uint32_t who)
{
    for (uint32_t round = 0;;)
    {
        round = m_round.AwaitOtherThan(round, m_looks);
        if (m_quit.load(std::memory_order_relaxed))
        {
            break;
        }
        DoWork(who);
        if (m_busy.fetch_sub(1, std::memory_order_acq_rel) == 1)
        {
            m_done.Set(round);
        }
    }
    NodeWindowPorts::Get().LeaveThread();
}

} // namespace ns3
