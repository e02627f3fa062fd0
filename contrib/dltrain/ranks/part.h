/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_PART_H
#define DLTRAIN_PART_H

#include <string>

namespace dltrain
{

/// Loads a library that a run has asked for (scenarios/launch/part.h). \throws std::runtime_error
void LoadPart(const std::string& name);

/**
 * The interface of a part, for code that does not link it.
 *
 *     class RankLink { public: static constexpr const char* PART = "mpi"; ... };
 *     Part<RankLink>::Get().Begin(...);                    // loads it, the first time
 *     const Part<RankLink>::Registered<MpiLink> g_link;    // in the part: makes it known
 *
 * \tparam Interface abstract; PART names the library
 */
template <class Interface>
class Part
{
  public:
    /// \throws std::runtime_error if it cannot be built or loaded
    static Interface& Get()
    {
        if (!Current())
        {
            LoadPart(Interface::PART); // its Registered sets the pointer
        }
        return *Current();
    }

    static bool IsLoaded()
    {
        return Current() != nullptr;
    }

    template <class Implementation>
    class Registered
    {
      public:
        Registered()
        {
            Current() = &m_implementation;
        }

      private:
        Implementation m_implementation;
    };

  private:
    /// The program's instance, whichever library asks: one definition, in the library of
    /// `Interface`.
    static Interface*& Current();
};

} // namespace dltrain

#endif /* DLTRAIN_PART_H */
