/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NODE_WINDOW_THREAD_POOL_H
#define NODE_WINDOW_THREAD_POOL_H

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace ns3
{

/**
 * \ingroup rdma
 * A thread pool with a barrier: all threads do a piece of work together, again and again, some
 * hundred thousand times a second. A thread that waits polls for some microseconds and then sleeps,
 * so that a busy machine loses nothing.
 */
class NodeWindowThreadPool
{
  public:
    /// \param size threads, the caller's included: 2 or more \param work of one of them, by number
    /// \throw std::system_error if there cannot be so many
    NodeWindowThreadPool(uint32_t size, std::function<void(uint32_t who)> work);
    ~NodeWindowThreadPool();

    NodeWindowThreadPool(const NodeWindowThreadPool&) = delete;
    NodeWindowThreadPool& operator=(const NodeWindowThreadPool&) = delete;

    /// Each does its work once; the caller is number 0. What all wrote before, each sees, and what
    /// they wrote, the caller. \throw what the work of one of them has thrown
    void Work();

  private:
    /// Waits until a number has another value than this.
    class Bell
    {
      public:
        uint32_t Get() const
        {
            return m_value.load(std::memory_order_acquire);
        }

        void Set(uint32_t value);
        /// \param looks whether for some time before it sleeps \return its value then
        uint32_t AwaitOtherThan(uint32_t value, bool looks);

      private:
        alignas(64) std::atomic<uint32_t> m_value{0};
        std::atomic<uint32_t> m_sleepers{0};
        std::mutex m_mutex;
        std::condition_variable m_wake;
    };

    void Help(uint32_t who);
    void Dismiss();
    void DoWork(uint32_t who);

    std::function<void(uint32_t)> m_work;
    bool m_looks; //!< each may have a core: else who looks takes one from those who are waited for
    Bell m_round; //!< its number
    Bell m_done;  //!< the number of the round that all helpers have done
    alignas(64) std::atomic<uint32_t> m_busy{0}; //!< helpers
    std::atomic<bool> m_quit{false};
    std::mutex m_mutex;
    std::exception_ptr m_failure;
    std::vector<std::thread> m_helpers;
};

} // namespace ns3

#endif /* NODE_WINDOW_THREAD_POOL_H */
