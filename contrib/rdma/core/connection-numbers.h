/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Queue pair numbers that both ends of a connection know without asking each other.
 */
#ifndef RDMA_CORE_CONNECTION_NUMBERS_H
#define RDMA_CORE_CONNECTION_NUMBERS_H

#include <cstdint>

namespace rdma
{

/**
 * Endpoint `a` opens its connections to `b` in an order of its own: slots 0, 1, 2, ... The numbers
 * of both ends follow from (a, b, slot):
 *
 *     at a, the active end    2 + 2 (slot E + b)         E endpoints
 *     at b, the passive end   2 + 2 (slot E + a) + 1
 *
 * So no two queue pairs of a NIC have one number, and a NIC that hears of a number for the first
 * time knows what connection it is. Queue pairs have numbers of 24 bits, of which 0 and 1 are
 * special (InfiniBand Architecture Specification vol. 1, 3.9); that is room for MostSlots()
 * connections from one endpoint to another.
 */
class ConnectionNumbers
{
  public:
    static constexpr uint32_t FIRST = 2;
    static constexpr uint32_t LAST = 0xffffff;

    struct Place
    {
        uint32_t peer;
        uint32_t slot;
        bool active; ///< this end opened it
    };

    /// \param endpoints 1 or more
    explicit constexpr ConnectionNumbers(uint32_t endpoints)
        : m_endpoints(endpoints)
    {
    }

    /// \return slots that have numbers, from one endpoint to another
    constexpr uint32_t MostSlots() const
    {
        return (LAST - FIRST + 1) / 2 / m_endpoints;
    }

    /// \pre slot < MostSlots()
    constexpr uint32_t Active(uint32_t peer, uint32_t slot) const
    {
        return FIRST + 2 * (slot * m_endpoints + peer);
    }

    /// \pre slot < MostSlots()
    constexpr uint32_t Passive(uint32_t peer, uint32_t slot) const
    {
        return Active(peer, slot) + 1;
    }

    /// \param number FIRST or above. \return what it is at the endpoint that has it
    constexpr Place At(uint32_t number) const
    {
        const uint32_t pair = (number - FIRST) / 2;
        return {pair % m_endpoints, pair / m_endpoints, number % 2 == 0};
    }

    /// \return the number of the other end of the queue pair that `number` is at `endpoint`
    constexpr uint32_t Other(uint32_t endpoint, uint32_t number) const
    {
        const Place place = At(number);
        return place.active ? Passive(endpoint, place.slot) : Active(endpoint, place.slot);
    }

  private:
    uint32_t m_endpoints;
};

} // namespace rdma

#endif // RDMA_CORE_CONNECTION_NUMBERS_H
