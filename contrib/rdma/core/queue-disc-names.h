/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Queue disciplines of Ethernet ports by name. The source file of each says what it is called:
 *
 *   const rdma::RegisteredQueueDisc g_wrr{"wrr", "weighted round robin by frames"};
 *
 * From there --queue-disc, --list=queue-discs and checks of input have names and descriptions. A
 * program knows the disciplines of the libraries that are part of it.
 */
#ifndef RDMA_CORE_QUEUE_DISC_NAMES_H
#define RDMA_CORE_QUEUE_DISC_NAMES_H

#include <map>
#include <stdexcept>
#include <string>

namespace rdma
{

/// What a port does without an object: strict priorities (RdmaPort::StrictPriorities), then the
/// others by deficit weighted round robin.
inline constexpr const char* kPortDwrr = "drr";
/// The same, and all eight priorities are strict.
inline constexpr const char* kPortStrict = "strict";

struct QueueDiscName
{
    std::string description;
    bool overtakes = false; ///< packets of a flow overtake each other
};

namespace detail
{

inline std::map<std::string, QueueDiscName>&
MutableQueueDiscs()
{
    // Never destroyed: disciplines of several shared libraries leave it, in whatever order.
    static auto& all = *new std::map<std::string, QueueDiscName>{
        {kPortDwrr,
         {"strict priorities first (6 and 7, or --ets), the others by deficit weighted round "
          "robin"}},
        {kPortStrict, {"all priorities strict: 7 first, 0 last"}},
    };
    return all;
}

} // namespace detail

/// All, by name.
inline const std::map<std::string, QueueDiscName>&
QueueDiscs()
{
    return detail::MutableQueueDiscs();
}

/// \return whether a port does it without an object; "" is the default
inline bool
IsPortsOwn(const std::string& queueDisc)
{
    return queueDisc.empty() || queueDisc == kPortDwrr || queueDisc == kPortStrict;
}

/// Makes a discipline known while it lives.
class RegisteredQueueDisc
{
  public:
    /// \param name RdmaQueueDisc::GetName() \param overtakes whether packets of a flow overtake
    /// each other
    RegisteredQueueDisc(const std::string& name,
                        const std::string& description,
                        bool overtakes = false)
        : m_name(name)
    {
        if (!detail::MutableQueueDiscs()
                 .emplace(name, QueueDiscName{description, overtakes})
                 .second)
        {
            throw std::logic_error("a second queue discipline is called " + name);
        }
    }

    RegisteredQueueDisc(const RegisteredQueueDisc&) = delete;
    RegisteredQueueDisc& operator=(const RegisteredQueueDisc&) = delete;

    ~RegisteredQueueDisc()
    {
        detail::MutableQueueDiscs().erase(m_name);
    }

  private:
    std::string m_name;
};

} // namespace rdma

#endif // RDMA_CORE_QUEUE_DISC_NAMES_H
