/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/layout-search/in-order.h"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace planner
{

namespace
{

class Pool
{
  public:
    Pool(const Piecework& all, unsigned threads)
        : m_all(all),
          m_done(all.pieces),
          m_thrown(all.pieces)
    {
        for (unsigned thread = 0; thread < threads; ++thread)
        {
            m_threads.emplace_back([this, thread] { Work(thread); });
        }
    }

    ~Pool()
    {
        {
            const std::lock_guard lock(m_mutex);
            m_ends = true;
        }
        m_taken.notify_all();
        for (std::thread& thread : m_threads)
        {
            thread.join();
        }
    }

    void Take()
    {
        constexpr std::chrono::milliseconds kLook(50);
        for (; m_next < m_all.pieces; Advance())
        {
            {
                std::unique_lock lock(m_mutex);
                while (!m_worked.wait_for(lock, kLook, [this] { return m_done[m_next] != 0; }))
                {
                    lock.unlock();
                    m_all.wait();
                    lock.lock();
                }
            }
            if (m_thrown[m_next])
            {
                std::rethrow_exception(m_thrown[m_next]);
            }
            if (!m_all.take(m_next))
            {
                return;
            }
        }
    }

  private:
    void Advance()
    {
        {
            const std::lock_guard lock(m_mutex);
            ++m_next;
        }
        m_taken.notify_all();
    }

    void Work(unsigned thread)
    {
        std::unique_lock lock(m_mutex);
        while (true)
        {
            m_taken.wait(lock, [this] {
                return m_ends || m_begun >= m_all.pieces || m_begun - m_next < m_all.ahead;
            });
            if (m_ends || m_begun >= m_all.pieces)
            {
                return;
            }
            const std::size_t piece = m_begun++;
            lock.unlock();
            try
            {
                m_all.work(thread, piece);
            }
            catch (...)
            {
                m_thrown[piece] = std::current_exception();
            }
            lock.lock();
            m_done[piece] = 1;
            m_worked.notify_one();
        }
    }

    const Piecework& m_all;
    std::mutex m_mutex;                       ///< guards the members below
    std::condition_variable m_worked;         ///< a piece is done
    std::condition_variable m_taken;          ///< one was taken, or all ends
    std::vector<char> m_done;                 ///< by piece
    std::vector<std::exception_ptr> m_thrown; ///< by piece; of done ones without the mutex
    std::size_t m_begun = 0;
    std::size_t m_next = 0; ///< to be taken
    bool m_ends = false;
    std::vector<std::thread> m_threads;
};

} // namespace

void
InOrder(const Piecework& all, unsigned threads)
{
    Pool(all, threads).Take();
}

} // namespace planner
