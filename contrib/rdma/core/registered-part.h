/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Exchangeable parts of a switch by name: each says in its own file what it is called, and is known
 * from then on to options, --list and errors, which are pure and know no ns-3 class:
 *
 *   inline const RegisteredMarker kCodel{{"codel", "by time in the queue (RFC 8289)"}};
 *
 * The class in contrib/rdma/queueing/ returns the same name by GetName(). A part of one file only
 * has the line there, without `inline`; then programs know it that have the rdma module.
 */
#ifndef RDMA_CORE_REGISTERED_PART_H
#define RDMA_CORE_REGISTERED_PART_H

#include <map>
#include <stdexcept>
#include <string>
#include <utility>

namespace rdma
{

/// What all kinds of parts have.
struct PartName
{
    std::string name;
    std::string description;
};

/// Makes a part known while it lives. \tparam Part derives from PartName
template <class Part>
struct RegisteredPart : Part
{
    explicit RegisteredPart(Part part)
        : Part(std::move(part))
    {
        if (!All().emplace(this->name, *this).second)
        {
            throw std::logic_error("a second part of its kind is called " + this->name);
        }
    }

    RegisteredPart(const RegisteredPart&) = delete;
    RegisteredPart& operator=(const RegisteredPart&) = delete;

    ~RegisteredPart()
    {
        All().erase(this->name);
    }

    /// All of the kind, by name.
    static const std::map<std::string, Part>& Known()
    {
        return All();
    }

    /// Null if there is none.
    static const Part* Find(const std::string& name)
    {
        const auto it = All().find(name);
        return it == All().end() ? nullptr : &it->second;
    }

  private:
    static std::map<std::string, Part>& All()
    {
        // Never destroyed: parts of several shared libraries leave it, in whatever order these end.
        static auto& all = *new std::map<std::string, Part>;
        return all;
    }
};

/// How the frames of a port get ECN's marks (RdmaMarker).
struct MarkerName : PartName
{
    bool usesThresholds = false; ///< it goes by EcnKmin, EcnKmax and EcnPmax
};

using RegisteredMarker = RegisteredPart<MarkerName>;

/// How much of a switch's pool a queue may hold (RdmaBufferPolicy).
struct BufferPolicyName : PartName
{
    bool isInline = false; ///< SharedBuffer has it, no class
};

using RegisteredBufferPolicy = RegisteredPart<BufferPolicyName>;

} // namespace rdma

#endif // RDMA_CORE_REGISTERED_PART_H
