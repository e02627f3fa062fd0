/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What a program is doing before the simulated time begins, for whoever shows it: setting up a
 * large network takes seconds to minutes. One word at a time, of the whole process; setting it
 * costs a store or two.
 *
 *     const SetUpPhase phase("computing routes", endpoints);
 *     for (...) { ...; phase.Done(i); }
 */
#ifndef RDMA_CORE_SET_UP_PHASE_H
#define RDMA_CORE_SET_UP_PHASE_H

#include <atomic>
#include <cstdint>

namespace rdma
{

class SetUpPhase
{
  public:
    /// `name` lives for ever (a literal). `total`: how many pieces of work there are, 0 if that is
    /// not known.
    explicit SetUpPhase(const char* name, uint64_t total = 0)
        : m_before(Name().load(std::memory_order_relaxed))
    {
        Total().store(total, std::memory_order_relaxed);
        Count().store(0, std::memory_order_relaxed);
        Name().store(name, std::memory_order_relaxed);
    }

    ~SetUpPhase()
    {
        Total().store(0, std::memory_order_relaxed);
        Name().store(m_before, std::memory_order_relaxed);
    }

    SetUpPhase(const SetUpPhase&) = delete;
    SetUpPhase& operator=(const SetUpPhase&) = delete;

    void Done(uint64_t pieces) const
    {
        Count().store(pieces, std::memory_order_relaxed);
    }

    /// For another thread: the innermost phase, or null. The three are read one by one, so they may
    /// be of two phases.
    static std::atomic<const char*>& Name()
    {
        static std::atomic<const char*> name{nullptr};
        return name;
    }

    static std::atomic<uint64_t>& Total()
    {
        static std::atomic<uint64_t> total{0};
        return total;
    }

    static std::atomic<uint64_t>& Count()
    {
        static std::atomic<uint64_t> count{0};
        return count;
    }

    /// Whether the user wants to see no progress (--progress=0).
    static std::atomic<bool>& Quiet()
    {
        static std::atomic<bool> quiet{false};
        return quiet;
    }

  private:
    const char* m_before;
};

} // namespace rdma

#endif // RDMA_CORE_SET_UP_PHASE_H
