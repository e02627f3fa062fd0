/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Congestion controls whose feedback travels in data packets (their GetHeaderBytes().data), so that
 * who reads captures knows how long a packet is. Each such law's header says it of itself, or of
 * one of its presets:
 *
 *   inline const AddsToData kHpccAdds{"hpcc", kHpccTelemetryBytes};
 */
#ifndef RDMA_CORE_ADDED_BYTES_H
#define RDMA_CORE_ADDED_BYTES_H

#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace rdma
{

/// Makes it known of a congestion control while it lives.
class AddsToData
{
  public:
    /// \param preset the only one with which it does; empty: it does with all
    AddsToData(std::string control, uint32_t bytes, std::string preset = "")
        : m_key(std::move(control), std::move(preset))
    {
        All()[m_key] = bytes;
    }

    AddsToData(const AddsToData&) = delete;
    AddsToData& operator=(const AddsToData&) = delete;

    ~AddsToData()
    {
        All().erase(m_key);
    }

    /// \return bytes that the congestion control of this name, with this preset, adds to a packet
    static uint32_t Of(const std::string& control, const std::string& preset)
    {
        for (const std::string& key : {preset, std::string()})
        {
            const auto found = All().find({control, key});
            if (found != All().end())
            {
                return found->second;
            }
        }
        return 0;
    }

  private:
    using Key = std::pair<std::string, std::string>;

    static std::map<Key, uint32_t>& All()
    {
        // Never destroyed: laws of several shared libraries leave it, in whatever order these end.
        static auto& all = *new std::map<Key, uint32_t>;
        return all;
    }

    Key m_key;
};

} // namespace rdma

#endif // RDMA_CORE_ADDED_BYTES_H
