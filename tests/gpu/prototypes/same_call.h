// True if two function types have the same calling convention: equally many parameters of the same size and kind
// (integer register or floating point), and results of the same size.
#pragma once

#include <cstddef>
#include <type_traits>

namespace tern::testing {

template <class A, class B>
constexpr bool same_argument = sizeof(A) == sizeof(B) && std::is_floating_point_v<A> == std::is_floating_point_v<B> &&
                               (std::is_scalar_v<A> || std::is_enum_v<A>)&&(std::is_scalar_v<B> || std::is_enum_v<B>);
template <>
constexpr bool same_argument<void, void> = true;

template <class A, class B>
struct SameCall : std::false_type {};

template <class R, class... A, class S, class... B>
requires(sizeof...(A) == sizeof...(B)) struct SameCall<R (*)(A...), S (*)(B...)>
    : std::bool_constant<same_argument<R, S> && (same_argument<A, B> && ...)> {
};

template <class Ours, class Theirs>
constexpr bool same_call = SameCall<Ours, Theirs>::value;

}  // namespace tern::testing
