/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_CORE_OBJECT_POOL_H
#define RDMA_CORE_OBJECT_POOL_H

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <sys/mman.h>
#include <type_traits>
#include <vector>

namespace rdma
{

/**
 * Objects that are used again and again, by threads that hand them to each other: one pool for each
 * thread, which takes and gives back without asking anybody. Who gives back more than it takes
 * leaves whole batches at a depot, where those find them who take more than they give back.
 *
 * Memory is never given back before the end.
 *
 * \tparam T has `T* next`, which the pool uses while it has the object
 */
template <class T>
class ObjectPool
{
  public:
    static constexpr uint32_t BATCH = 1024;

    /// What all pools share.
    class Depot
    {
      public:
        /// \return BATCH objects, linked
        T* Take()
        {
            const std::lock_guard<std::mutex> lock(m_mutex);
            if (!m_batches.empty())
            {
                T* batch = m_batches.back();
                m_batches.pop_back();
                return batch;
            }
            if constexpr (std::is_trivial_v<T>)
            {
                if (m_made >= PER_BLOCK && TakeBlock())
                {
                    T* batch = m_batches.back();
                    m_batches.pop_back();
                    return batch;
                }
            }
            m_slabs.push_back(std::make_unique<T[]>(BATCH));
            return Link(m_slabs.back().get());
        }

        void Leave(T* batch)
        {
            const std::lock_guard<std::mutex> lock(m_mutex);
            m_batches.push_back(batch);
        }

        /// \return objects that pools have, or whoever took them from these
        uint64_t GetOut() const
        {
            return uint64_t{BATCH} * (m_made - m_batches.size());
        }

      private:
        /// A page of the larger kind that Linux has, if it may be one: many objects share an entry
        /// of the processor's table of pages, which is where time goes when there are a million.
        static constexpr std::size_t BLOCK = std::size_t{2} << 20;
        static constexpr std::size_t PER_BLOCK = BLOCK / (BATCH * sizeof(T)); //!< batches

        struct Free
        {
            void operator()(void* memory) const
            {
                std::free(memory);
            }
        };

        /// \return its first object, with the others of a batch behind it
        T* Link(T* batch)
        {
            ++m_made;
            for (uint32_t i = 0; i < BATCH; ++i)
            {
                batch[i].next = i + 1 < BATCH ? &batch[i + 1] : nullptr;
            }
            return batch;
        }

        /// \return whether there are batches now
        bool TakeBlock()
        {
            void* memory = PER_BLOCK ? std::aligned_alloc(BLOCK, BLOCK) : nullptr;
            if (!memory)
            {
                return false;
            }
            m_blocks.emplace_back(memory);
#ifdef MADV_HUGEPAGE
            madvise(memory, BLOCK, MADV_HUGEPAGE); // if not, not
#endif
            for (std::size_t i = 0; i < PER_BLOCK; ++i)
            {
                m_batches.push_back(Link(static_cast<T*>(memory) + i * BATCH));
            }
            return true;
        }

        std::mutex m_mutex;
        std::vector<T*> m_batches;
        std::vector<std::unique_ptr<T[]>> m_slabs;
        std::vector<std::unique_ptr<void, Free>> m_blocks;
        std::size_t m_made{0}; //!< batches
    };

    explicit ObjectPool(Depot& depot)
        : m_depot(depot)
    {
    }

    T* Allocate()
    {
        if (!m_free)
        {
            Refill();
        }
        T* object = m_free;
        m_free = object->next;
        __builtin_prefetch(m_free, 1); // the next caller will read where its next one is
        --m_count;
        return object;
    }

    void Free(T* object)
    {
        if (m_count == BATCH)
        {
            Shelve();
        }
        object->next = m_free;
        m_free = object;
        ++m_count;
    }

    /// \return objects that lie here
    uint64_t GetIdle() const
    {
        return m_count + (m_spare ? BATCH : 0);
    }

  private:
    void Refill()
    {
        m_free = m_spare ? m_spare : m_depot.Take();
        m_spare = nullptr;
        m_count = BATCH;
    }

    void Shelve()
    {
        if (m_spare)
        {
            m_depot.Leave(m_spare);
        }
        m_spare = m_free;
        m_free = nullptr;
        m_count = 0;
    }

    T* m_free{nullptr};
    uint32_t m_count{0}; //!< of m_free
    T* m_spare{nullptr}; //!< a batch: to go back and forth at its end costs nothing
    Depot& m_depot;
};

/**
 * The pools of a process, one for each thread: that of a thread that ends serves another one.
 *
 * \tparam T as ObjectPool has it
 */
template <class T>
class ThreadPools
{
  public:
    /// \return this thread's
    static ObjectPool<T>& Get()
    {
        thread_local Lease lease;
        return *lease.pool;
    }

  private:
    struct All
    {
        typename ObjectPool<T>::Depot depot;
        std::mutex mutex;
        std::vector<ObjectPool<T>*> idle;
    };

    /// For the whole process: who frees last is not known.
    static All& GetAll()
    {
        static All& all = *new All;
        return all;
    }

    struct Lease
    {
        Lease()
        {
            All& all = GetAll();
            const std::lock_guard<std::mutex> lock(all.mutex);
            if (all.idle.empty())
            {
                pool = new ObjectPool<T>(all.depot);
                return;
            }
            pool = all.idle.back();
            all.idle.pop_back();
        }

        ~Lease()
        {
            All& all = GetAll();
            const std::lock_guard<std::mutex> lock(all.mutex);
            all.idle.push_back(pool);
        }

        Lease(const Lease&) = delete;
        Lease& operator=(const Lease&) = delete;

        ObjectPool<T>* pool;
    };
};

} // namespace rdma

#endif /* RDMA_CORE_OBJECT_POOL_H */
