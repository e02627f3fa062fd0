/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_RANKS_H
#define DLTRAIN_RANKS_H

#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

namespace ns3
{
class NodeWindowRanks;
}

namespace dltrain
{

/**
 * The processes that mpirun started, and their communication before and after the simulation. While
 * it runs, only frames and words pass between them, by ns3::NodeWindowRanks or, with ns-3's engine,
 * through ns3::RdmaGateway.
 *
 *     Ranks::Session session(argc, argv, engine);  // in main; MPI is there for as long, if mpirun
 *                                                  // started us
 *     if (Ranks::Get().Several()) ...
 *
 * The functions below are collective: all ranks call them, in the same order. With one rank they
 * return what they are given, and MPI is not even initialized.
 */
class Ranks
{
  public:
    class Session
    {
      public:
        /// \param windows whether node windows are the engine, else ns-3's own
        /// \throw std::runtime_error if the number of processes differs from the environment's
        Session(int& argc, char**& argv, bool windows);
        /// On the way out of an exception MPI is left as it is: the others may wait for this one
        /// wherever they are, until it ends with an error and mpirun ends them.
        ~Session();

        Session(const Session&) = delete;
        Session& operator=(const Session&) = delete;

      private:
        const int m_exceptions; //!< under way when it began
    };

    static Ranks& Get();

    /**
     * The ranks that have hosts, and so messages: all of them, or only the first one. In the second
     * case the first rank is alone in the result. On every other rank the result is that rank
     * alone, but it is not the first.
     */
    static const Ranks& OfHosts();
    /// The first rank has all hosts, the others have switches. Before anybody asks.
    static void KeepHostsTogether();
    /// \return whether this one has hosts
    static bool HasHosts();

    /// As the end of the Session, for whoever is about to end the process in good order;
    /// collective. mpirun takes a process that ends without it for one that failed.
    static void Leave();

    uint32_t Rank() const
    {
        return m_rank;
    }

    uint32_t Size() const
    {
        return m_size;
    }

    /// \return the link between ranks while the simulation runs; null: a single process, or ns-3's
    /// engine
    static ns3::NodeWindowRanks* OfWindows();

    bool Several() const
    {
        return m_size > 1;
    }

    /// Whether this is the rank that prints and writes.
    bool IsFirst() const
    {
        return m_rank == 0;
    }

    /// \return at the first rank the texts of all, by rank; elsewhere nothing
    std::vector<std::string> Gather(const std::string& text) const;
    /// \return everywhere the texts of all, by rank
    std::vector<std::string> Share(const std::string& text) const;
    /// \return everywhere the first text that is not empty, by rank
    std::string FirstText(const std::string& text) const;

    /// As ns3::NodeWindowRanks::Transport has it.
    void Exchange(const std::vector<std::vector<uint8_t>>& to,
                  std::vector<std::vector<uint8_t>>& from) const;

    /// \return everywhere the sum. \tparam T uint64_t or double
    template <class T>
    T Sum(T value) const;
    /// \return everywhere the largest. \tparam T int64_t or double
    template <class T>
    T Max(T value) const;

    /// \return at the first rank the elements of all, by rank; elsewhere nothing
    template <class T>
    std::vector<T> GatherAll(std::vector<T> values) const
    {
        static_assert(std::is_trivially_copyable_v<T>, "as bytes");
        if (!Several())
        {
            return values;
        }
        std::vector<T> all;
        for (const std::string& bytes :
             Gather({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)}))
        {
            if (bytes.empty()) // there may be no memory at all to copy to
            {
                continue;
            }
            const std::size_t before = all.size();
            all.resize(before + bytes.size() / sizeof(T));
            std::memcpy(static_cast<void*>(all.data() + before), bytes.data(), bytes.size());
        }
        return all;
    }

  private:
    Ranks() = default;

    uint32_t m_rank{0};
    uint32_t m_size{1};
};

} // namespace dltrain

#endif /* DLTRAIN_RANKS_H */
